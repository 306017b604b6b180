import { McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { createTasks } from "holdfast";
import { createDashboard, createNodeHandler } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

const tasks = createTasks({ store: sqliteStore("tasks.db") });
tasks.tool("greet", {}, () => ({ content: [{ type: "text", text: "Hello" }] }));

/** Put your own users here: this example has two tokens. */
const users = new Map([
  [process.env["ADA_TOKEN"], { name: "ada", isOperator: true }],
  [process.env["BOB_TOKEN"], { name: "bob", isOperator: false }],
]);

function userOf({ headers }: Request): { name: string; isOperator: boolean } | undefined {
  const [, token] = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "") ?? [];
  return token === undefined ? undefined : users.get(token);
}

const mcp = createNodeHandler(
  tasks.server(() => new McpServer({ name: "greetings", version: "1.0.0" })),
  { authenticate: async (request) => userOf(request)?.name },
);
const dashboard = createDashboard(tasks, {
  path: "/ops/tasks",
  authenticate: async (request) => {
    const user = userOf(request);
    return user?.isOperator === true ? { actor: user.name } : undefined;
  },
});

await tasks.start();
const app = express();
app.use(dashboard, mcp);
const http = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = http.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/mcp`);
});

async function stop(): Promise<void> {
  dashboard.close();
  await mcp.close();
  http.close();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
