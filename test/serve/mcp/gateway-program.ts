import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { mcpUpstream, serveTools } from "holdfast/serve";
import { sqliteStore } from "holdfast/sqlite";

// A gateway in front of the everything server, which it starts as a process. Prints its URL.
const [database = "", port = "0", script = "", upstreamStore = ""] = process.argv.slice(2);
const tasks = createTasks({ store: sqliteStore(database), pollIntervalMs: 100 });
const served = await serveTools(
  tasks,
  [
    mcpUpstream("everything", {
      command: process.execPath,
      args: [script, "--stdio"],
      env: { HOLDFAST_STORE: `sqlite:${upstreamStore}` },
    }),
  ],
  { onError: () => undefined },
);
const http = await serveHttp(
  tasks.server(async (context) => {
    const server = new McpServer({ name: "gateway", version: "1.0.0" });
    await served.attach(server, context);
    return server;
  }),
  { port: Number(port), anonymous: "shared" },
);
console.log(http.url);
process.once("SIGTERM", () => void http.close().then(() => served.close()));
