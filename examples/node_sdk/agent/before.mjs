// Books the earliest window; a booking that fails is tried again, up to three attempts.
import { connect, readTask } from "./tools.mjs";

const { parcel } = await readTask();
const client = await connect();

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent.result;
}

async function withRetries(attempts, action) {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (--attempts === 0) throw error;
      console.error(`again, after ${error.message}`);
    }
  }
}

const [earliest] = await call("list_windows", { parcel });
const number = await withRetries(3, () => call("book_pickup", { parcel, window: earliest }));
console.log(`booked ${number}`);
await client.close();
