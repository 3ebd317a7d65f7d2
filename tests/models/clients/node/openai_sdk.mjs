// The official `openai` package: chat completions, a tool, responses, embeddings.
import OpenAI from "openai";
import { MODEL, QUESTION, SCHEMA, Shelf, Text, TIMEOUT_MS, run } from "./seen.mjs";

const client = new OpenAI({ timeout: TIMEOUT_MS });
const TOOL = { type: "function", function: { name: "count", description: "how many", parameters: SCHEMA } };

// One completion; the tool calls that it asks for, as messages have them.
async function complete(messages, streamed, text, more = {}) {
  if (!streamed) {
    const { message } = (await client.chat.completions.create({ model: MODEL, messages, ...more })).choices[0];
    text.add(message.content);
    return message.tool_calls ?? [];
  }
  const calls = [];
  for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, stream: true, ...more })) {
    for (const { delta } of chunk.choices) {
      text.add(delta.content);
      for (const part of delta.tool_calls ?? []) {
        calls[part.index] ??= { id: part.id, type: "function", function: { name: "", arguments: "" } };
        calls[part.index].function.name += part.function.name ?? "";
        calls[part.index].function.arguments += part.function.arguments ?? "";
      }
    }
  }
  return calls;
}

async function chat(streamed) {
  const text = new Text();
  await complete([{ role: "user", content: QUESTION }], streamed, text);
  return text.seen();
}

async function tool(streamed) {
  const shelf = new Shelf();
  const text = new Text();
  const messages = [{ role: "user", content: QUESTION }];
  for (;;) {
    const calls = await complete(messages, streamed, text, { tools: [TOOL] });
    if (calls.length === 0) return text.seen({ calls: shelf.calls });
    messages.push({ role: "assistant", content: null, tool_calls: calls });
    for (const call of calls) {
      const content = String(shelf.count(JSON.parse(call.function.arguments)));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

async function responses(streamed) {
  const text = new Text();
  const asked = { model: MODEL, input: QUESTION };
  if (!streamed) {
    text.add((await client.responses.create(asked)).output_text);
    return text.seen();
  }
  for await (const event of await client.responses.create({ ...asked, stream: true })) {
    if (event.type === "response.output_text.delta") text.add(event.delta);
  }
  return text.seen();
}

// Never streamed.
async function embeddings() {
  const { data } = await client.embeddings.create({ model: MODEL, input: [QUESTION] });
  return { dimensions: data[0].embedding.length };
}

await run({ chat, tool, responses, embeddings }, chat);
