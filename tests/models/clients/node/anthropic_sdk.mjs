// The official `@anthropic-ai/sdk` package: messages, a tool.
import Anthropic from "@anthropic-ai/sdk";
import { MODEL, QUESTION, SCHEMA, Shelf, Text, TIMEOUT_MS, run } from "./seen.mjs";

const client = new Anthropic({ timeout: TIMEOUT_MS });
const TOOL = { name: "count", description: "how many", input_schema: SCHEMA };

// One message of the model: its content blocks.
async function ask(messages, streamed, text, more = {}) {
  const asked = { model: MODEL, max_tokens: 100, messages, ...more };
  if (streamed) {
    const stream = client.messages.stream(asked);
    stream.on("text", (part) => text.add(part));
    return (await stream.finalMessage()).content;
  }
  const { content } = await client.messages.create(asked);
  for (const block of content) text.add(block.text);
  return content;
}

async function messages(streamed) {
  const text = new Text();
  await ask([{ role: "user", content: QUESTION }], streamed, text);
  return text.seen();
}

async function tool(streamed) {
  const shelf = new Shelf();
  const text = new Text();
  const said = [{ role: "user", content: QUESTION }];
  for (;;) {
    const blocks = await ask(said, streamed, text, { tools: [TOOL] });
    const calls = blocks.filter((block) => block.type === "tool_use");
    if (calls.length === 0) return text.seen({ calls: shelf.calls });
    said.push({ role: "assistant", content: blocks });
    const results = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: String(shelf.count(call.input)),
    }));
    said.push({ role: "user", content: results });
  }
}

await run({ messages, tool }, messages);
