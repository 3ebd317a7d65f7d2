// The official TypeScript SDK 2.x: `typescript_sdk_2.mjs stdio|http default|auto`.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { session, stdio, url } from "./seen.mjs";

const [, , way, mode] = process.argv;
const options = mode === "default" ? {} : { versionNegotiation: { mode } };
const client = new Client({ name: "matrix", version: "1.0.0" }, options);
await client.connect(way === "http" ? new StreamableHTTPClientTransport(url()) : new StdioClientTransport(stdio()));
await session(client, client.getNegotiatedProtocolVersion() ?? null);
await client.close();
