// What every Node client of the matrix shares: how it finds the tools, and how it tells what it saw.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

export const item = "apples";

// The shim and its arguments, as a client starts an MCP server over stdio.
export const stdio = () => {
  const [command, ...args] = process.env.ARCI_MCP_COMMAND.split(" ");
  return { command, args };
};

// The address of the tools over Streamable HTTP.
export const url = () => new URL(process.env.ARCI_MCP_URL);

// The first number in what a client shows of an answer; 0 if there is none, which no order is right with.
export const number = (text) => Number(/\d+/.exec(text)?.[0] ?? 0);

// One tool call as the client's user sees it, from the result that the SDK returns.
export const answer = ({ isError, content }) => ({
  is_error: isError === true,
  text: content.map((block) => block.text ?? "").join(""),
});

// Leaves `seen.json` in the workdir, and the same on stdout.
export const save = (revision, tools, [faulted, clean, ordered]) => {
  const text = JSON.stringify({ revision, tools: tools.sort(), faulted, clean, ordered });
  writeFileSync(join(process.env.ARCI_WORKDIR, "seen.json"), text + "\n");
  console.log(text);
};

// The session that every SDK client holds: `client` is connected.
export const session = async (client, revision) => {
  const { tools } = await client.listTools();
  const call = async (name, args) => answer(await client.callTool({ name, arguments: args }));
  const faulted = await call("count", { item });
  const clean = await call("count", { item });
  const ordered = await call("order", { item, quantity: number(clean.text) });
  save(revision, tools.map((tool) => tool.name), [faulted, clean, ordered]);
};
