import { createHash, timingSafeEqual } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addReport } from "./tools.ts";

const { HOST = "127.0.0.1", PORT = "3000", DATABASE = "tasks.db", TOKEN = "" } = process.env;

const tasks = createTasks({ store: sqliteStore(DATABASE) });
addReport(tasks);
const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));

// One secret for all callers. Return a name of your own for each user instead, or use oauthResource of holdfast/auth.
const hash = (text: string) => createHash("sha256").update(text).digest();
const authenticate = async ({ headers }: Request) => {
  const isRight = timingSafeEqual(hash(headers.get("authorization") ?? ""), hash(`Bearer ${TOKEN}`));
  return isRight ? "owner" : undefined;
};

// Without TOKEN it serves this machine only: another HOST is refused.
const http = await serveHttp(makeServer, {
  host: HOST,
  port: Number(PORT),
  ...(TOKEN !== "" && { authenticate }),
});
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
