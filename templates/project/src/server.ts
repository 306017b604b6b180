import { createHash, timingSafeEqual } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { configFromEnv } from "holdfast/env";
import { serveHttp } from "holdfast/http";
import { addReport } from "./tools.ts";

// Reads HOLDFAST_STORE, HOLDFAST_PORT and other variables: the guide "Operations" lists them all.
const config = configFromEnv(process.env);
const { TOKEN = "" } = process.env;

const tasks = createTasks(config.tasks);
addReport(tasks);
const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));

// One secret for all callers. To tell users apart, return a different name for each, or use oauthResource from holdfast/auth.
const hash = (text: string) => createHash("sha256").update(text).digest();
const authenticate = async ({ headers }: Request) => {
  const isRight = timingSafeEqual(hash(headers.get("authorization") ?? ""), hash(`Bearer ${TOKEN}`));
  return isRight ? "owner" : undefined;
};

// Without TOKEN, the server accepts only connections from this machine, and refuses any other HOLDFAST_HOST.
const http = await serveHttp(makeServer, { ...config.http, ...(TOKEN !== "" && { authenticate }) });
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void http.close());
