import { McpServer } from "@modelcontextprotocol/server";
import express from "express";
import { createTasks } from "holdfast";
import { createDashboard, createNodeHandler } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";

const tasks = createTasks({ store: sqliteStore("tasks.db") });
tasks.tool("greet", {}, () => ({ content: [{ type: "text", text: "Hello" }] }));

const { ADA_TOKEN, BOB_TOKEN } = process.env;
if (ADA_TOKEN === undefined || BOB_TOKEN === undefined)
  throw new Error("Set ADA_TOKEN and BOB_TOKEN to two tokens: openssl rand -hex 32");

/** Put your own users here. */
const users = new Map([
  [ADA_TOKEN, { name: "ada", isOperator: true }],
  [BOB_TOKEN, { name: "bob", isOperator: false }],
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
