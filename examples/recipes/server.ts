import { appendFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createNodeHandler } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addRelease } from "./approval.ts";
import { addCheckLinks } from "./fan-out.ts";
import { addTrip } from "./saga.ts";
import { addRender, limited } from "./tenant-limits.ts";

const { WEBHOOK_SECRET, PORT = "3000" } = process.env;
if (WEBHOOK_SECRET === undefined) throw new Error("Set WEBHOOK_SECRET, with which webhooks are signed.");

const tasks = createTasks({ store: sqliteStore("tasks.db"), ...limited });

// Put your own code here.
const note = (line: string): Promise<void> => appendFile("outbox.txt", `${line}\n`);
const service = (name: string) => ({
  book: async (key: string, city: string) => (await note(`book ${key} ${city}`), `${name} in ${city}`),
  cancel: (key: string) => note(`cancel ${key}`),
});
const onDecision = addRelease(
  tasks,
  {
    ask: (question, reference) => note(`${reference} ${question}`),
    publish: (version, key) => note(`publish ${version} ${key}`),
  },
  WEBHOOK_SECRET,
);
addCheckLinks(tasks, async (url, signal) => (await fetch(url, { method: "HEAD", signal })).status);
addTrip(tasks, { flight: service("flight"), hotel: service("hotel") });
addRender(tasks, async (month) => `https://example.com/${month}`);

const mcp = createNodeHandler(tasks.server(() => new McpServer({ name: "recipes", version: "1.0.0" })));
await tasks.start(); // goes on with the tasks of the previous process

const http = createServer((request, response) => {
  mcp(request, response, () => {
    const answer = (status: number): void => void response.writeHead(status).end();
    if (request.url !== "/webhooks/decisions") return answer(404);
    onDecision(request).then(answer, () => answer(500));
  });
});
http.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

async function stop(): Promise<void> {
  await mcp.close();
  http.close();
  http.closeAllConnections();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());
