// The official TypeScript SDK 1.x: `typescript_sdk_1.mjs stdio|http`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { session, stdio, url } from "./seen.mjs";

const transport =
  process.argv[2] === "http" ? new StreamableHTTPClientTransport(url()) : new StdioClientTransport(stdio());
let revision = null;
// Over stdio the SDK keeps the revision to itself, but tells it to a transport that has this method.
if (!transport.setProtocolVersion) transport.setProtocolVersion = (version) => (revision = version);

const client = new Client({ name: "matrix", version: "1.0.0" });
await client.connect(transport);
await session(client, transport.protocolVersion ?? revision);
await client.close();
