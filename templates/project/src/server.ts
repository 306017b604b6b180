import { createHash, timingSafeEqual } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { configFromEnv } from "holdfast/env";
import { serveHttp } from "holdfast/http";
import { addReport } from "./tools.ts";

// HOLDFAST_STORE, HOLDFAST_PORT and the like: the guide "Operations" has them all.
const config = configFromEnv(process.env);
const { TOKEN = "" } = process.env;

const tasks = createTasks(config.tasks);
addReport(tasks);
const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));

// One secret for all callers. Return a name of your own for each user instead, or use oauthResource of holdfast/auth.
const hash = (text: string) => createHash("sha256").update(text).digest();
const authenticate = async ({ headers }: Request) => {
  const isRight = timingSafeEqual(hash(headers.get("authorization") ?? ""), hash(`Bearer ${TOKEN}`));
  return isRight ? "owner" : undefined;
};

// Without TOKEN it serves this machine only: another HOLDFAST_HOST is refused.
const http = await serveHttp(makeServer, { ...config.http, ...(TOKEN !== "" && { authenticate }) });
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
