// The server that the crash test kills: node hooked-server.ts DATABASE URL SECRET AHEAD_MS. Prints its URL once it serves.
import { McpServer } from "@modelcontextprotocol/server";
import { serveHttp } from "holdfast/http";
import { systemClock } from "../../src/runtime/clock.ts";
import { createTasksWith } from "../../src/server/tasks.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";

const [database = "", url = "", secret = "", ahead = "0"] = process.argv.slice(2);

// A test that was killed itself leaves nothing behind.
process.stdin.on("close", () => process.exit(1)).resume();

const tasks = createTasksWith(
  {
    store: sqliteStore(database),
    webhooks: [{ name: "main", url, secret, allowHttp: true, allowPrivate: ["127.0.0.1"], concurrency: 2 }],
    crashBackoffMs: 0,
    maxCrashes: 1_000,
  },
  // What a process that was killed had taken is due again at once.
  { clock: { ...systemClock, now: () => systemClock.now() + Number(ahead) } },
);
tasks.tool("work", {}, async (_, task) => {
  await task.step("one", () => 1);
  return { content: [] };
});
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "hooked", version: "1.0.0" })),
  { port: 0, anonymous: "shared" },
);
process.stdout.write(`${http.url}\n`);
