// The MCP inspector in CLI mode, one process and one connection per request: `inspector.mjs stdio|http legacy|auto`.

import { spawnSync } from "node:child_process";

import { answer, item, number, save, url } from "./seen.mjs";

const [, , way, era] = process.argv;
// It guesses Streamable HTTP where a path ends with /mcp; here the name of a server follows.
const http = () => ["--server-url", url().href, "--transport", "http"];
const server = way === "http" ? http() : ["--config", process.env.ARCI_MCP_CONFIG, "--server", "tools"];

// The result of one method. A tool's error is a result too, beside an exit code of its own (5).
const inspect = (method, ...args) => {
  const program = "/app/node_modules/.bin/mcp-inspector";
  const argv = ["--cli", ...server, "--protocol-era", era, "--method", method, "--format", "json", "--quiet", ...args];
  const { status, stdout, stderr } = spawnSync(program, argv, { encoding: "utf8" });
  if (status !== 0 && status !== 5) throw new Error(`${method} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout).result;
};

const call = (name, args) =>
  answer(inspect("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)));

const { protocolVersion } = inspect("initialize");
const { tools } = inspect("tools/list");
const faulted = call("count", { item });
const clean = call("count", { item });
const ordered = call("order", { item, quantity: number(clean.text) });
save(protocolVersion, tools.map((tool) => tool.name), [faulted, clean, ordered]);
