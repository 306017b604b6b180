// A server with one plain tool on FastMCP, which has no tasks: node fastmcp.js. It answers with JSON rather than with streams, which costs it less.
import { createServer } from "node:net";

/** A package of this folder, which the checks of the repository do not know. @type {(name: string) => Promise<any>} */
const load = (name) => import(name);
const { FastMCP } = await load("fastmcp");
const { z } = await load("zod");

const free = createServer().listen(0, "127.0.0.1");
await new Promise((resolve) => free.once("listening", resolve));
const { port } = /** @type {import("node:net").AddressInfo} */ (free.address());
await new Promise((resolve) => free.close(resolve));

const silent = () => undefined;
const logger = { debug: silent, error: console.error, info: silent, log: silent, warn: silent };
const server = new FastMCP({ name: "bench", version: "1.0.0", logger });
server.addTool({
  name: "add",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async (/** @type {{ a: number, b: number }} */ { a, b }) => String(a + b),
});
// It also writes to the standard output, where the URL is expected first.
const { log } = console;
console.log = silent;
await server.start({
  transportType: "httpStream",
  httpStream: { port, host: "127.0.0.1", enableJsonResponse: true },
});
process.on("SIGTERM", () => process.exit(0));
log(`http://127.0.0.1:${port}/mcp`);
