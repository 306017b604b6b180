// A server with a dashboard, for tests in a browser: node node.ts STORE FOLDER PORT WEBHOOKS. Tells its port once it serves.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type WebhookOptions } from "holdfast";
import { serveHttp } from "holdfast/http";
import { storeFromUrl } from "holdfast/store";
import { Gates } from "../peers/gates.ts";
import { operators } from "./operators.ts";
import { addTools } from "./tools.ts";

const [database = "", folder = "", port = "0", webhooks = "[]"] = process.argv.slice(2);
// A suite that was killed leaves nothing behind.
process.once("disconnect", () => process.exit(1));

const tasks = createTasks({
  store: storeFromUrl(database),
  webhooks: JSON.parse(webhooks) as readonly WebhookOptions[],
  crashBackoffMs: 10,
  stopDeadlineMs: 300,
  maxUnfinished: null,
  maxUnfinishedPerPrincipal: null,
  maxRetained: null,
  maxRetainedPerPrincipal: null,
  rates: { maxLoopDelayMs: null }, // the machine may be busy with other things
});
addTools(tasks, new Gates(folder));

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "dashboard", version: "1.0.0" })),
  {
    port: Number(port),
    // Callers say who they are; one is refused.
    authenticate: async ({ headers }) => {
      const caller = headers.get("authorization")?.replace(/^Bearer /, "");
      return caller === "stranger" ? undefined : caller;
    },
    dashboard: { authenticate: operators, traceUrl: "https://traces.example.com/{traceId}" },
  },
);
process.once("SIGTERM", () => void http.close().then(() => process.exit(0)));
process.send?.(http.port);
