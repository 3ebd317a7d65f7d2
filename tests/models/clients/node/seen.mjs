// What a program saw of its model: run as asked, written to `seen.json` below the workdir, and printed. As seen.py.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export const MODEL = "mock-1";
export const QUESTION = "What is on the shelf?";
export const TIMEOUT_MS = 2000;
export const SCHEMA = { type: "object", properties: { item: { type: "string" } }, required: ["item"] };

export async function run(session, call) {
  const [mode, scope] = process.argv.slice(2);
  const streamed = mode === "stream";
  if (scope === "session") {
    const steps = {};
    for (const [name, step] of Object.entries(session)) steps[name] = await step(streamed);
    await write({ mode, steps });
    return;
  }
  let seen;
  try {
    seen = { ...(await call(streamed)), error: null };
  } catch (error) {
    seen = { text: "", pieces: 0, error: error.constructor.name };
  }
  await write({ mode, ...seen });
}

async function write(seen) {
  await writeFile(join(process.env.ARCI_WORKDIR, "seen.json"), JSON.stringify(seen));
  console.log(JSON.stringify(seen));
}

// An answer as it comes.
export class Text {
  parts = [];

  add(part) {
    if (part) this.parts.push(part);
  }

  seen(more = {}) {
    return { text: this.parts.join(""), pieces: this.parts.length, ...more };
  }
}

// The one tool that programs offer; what it was called with.
export class Shelf {
  calls = [];

  count({ item }) {
    this.calls.push({ item });
    return 7;
  }
}
