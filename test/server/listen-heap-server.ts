// Serves listeners in a thread, and posts how much its heap holds for each message that it gets.
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
tasks.tool("waits", {}, async (_, task) => {
  await task.sleep("long", "1d");
  return { content: [] };
});
const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
const http = await serveHttp(server, { port: 0, maxListens: 10_000 });
parentPort?.postMessage(http.url);
parentPort?.on("message", () => {
  for (let round = 0; round < 3; round++) collectGarbage();
  parentPort?.postMessage(getHeapStatistics().used_heap_size);
});
