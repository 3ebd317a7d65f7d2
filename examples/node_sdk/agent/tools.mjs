// The agent's side of MCP, with the official SDK: the server is started as any mcpServers file says.
import { readFile } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

export async function connect() {
  const config = JSON.parse(await readFile(process.env.ARCI_MCP_CONFIG, "utf8"));
  const [server] = Object.values(config.mcpServers);
  const client = new Client({ name: "pickup-agent", version: "1.0.0" });
  await client.connect(new StdioClientTransport(server));
  return client;
}

export async function readTask() {
  return JSON.parse(await readFile(process.env.ARCI_TASK_FILE, "utf8"));
}
