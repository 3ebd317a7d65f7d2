// "Simplified": an answer's text is the answer. A failed call has a text as well, and it is taken for a booking.
import { connect, readTask } from "./tools.mjs";

const { parcel } = await readTask();
const client = await connect();

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  return result.structuredContent?.result ?? result.content[0].text;
}

const [earliest] = await call("list_windows", { parcel });
const number = await call("book_pickup", { parcel, window: earliest });
console.log(`booked ${number}`);
await client.close();
