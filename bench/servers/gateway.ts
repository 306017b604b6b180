// The tools of the server at UPSTREAM, as `holdfast serve` serves them. With DURABLE=false, calls are passed on, and nothing is stored.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { mcpUpstream, serveTools } from "holdfast/serve";
import { storeFromUrl } from "holdfast/store";

const { UPSTREAM = "", DURABLE } = process.env;
const tasks = createTasks({
  store: storeFromUrl(process.env["HOLDFAST_STORE"] ?? "sqlite:tasks.db"),
  concurrency: 1_000,
  rates: { maxLoopDelayMs: null, callsPerMinute: null },
  maxRetained: 2_000_000,
  maxUnfinished: null,
  maxUnfinishedPerPrincipal: null,
});
const served = await serveTools(tasks, [
  mcpUpstream("upstream", { url: UPSTREAM, durable: DURABLE !== "false" }),
]);
const server = tasks.server(async (context) => {
  const mcp = new McpServer({ name: "gateway", version: "1.0.0" });
  await served.attach(mcp, context);
  return mcp;
});
const http = await serveHttp(server, { port: 0 });
process.on("SIGTERM", () => void http.close().then(() => served.close()));
process.stdout.write(`${http.url}\n`);
