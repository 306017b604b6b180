// The server that tests of retries kill: node bulk-server.ts STORE PAYMENTS TOKEN [stall]. Prints the URL of its admin endpoint, and with
// "stall" the orders whose receipts it does not end.
import { createServer } from "node:http";
import { appendFileSync } from "node:fs";
import * as z from "zod";
import { adminToken, createAdminHandler } from "holdfast/http";
import { createTasks } from "holdfast";
import { storeFromUrl } from "holdfast/store";

const [store = "", payments = "", token = "", stall] = process.argv.slice(2);

// A test that was killed itself leaves nothing behind.
process.stdin.on("close", () => process.exit(1)).resume();

const tasks = createTasks({
  store: storeFromUrl(store),
  maxUnfinished: null,
  maxRetained: null,
  maxRetainedPerPrincipal: null,
  maxUnfinishedPerPrincipal: null,
  onError: () => undefined,
});
tasks.tool(
  "order",
  { inputSchema: z.object({ order: z.number() }), onCrash: "resume" },
  async ({ order }, task) => {
    await task.step("charge", ({ idempotencyKey }) =>
      appendFileSync(payments, `${order} ${idempotencyKey}\n`),
    );
    await task.step("receipt", async () => {
      if (stall !== undefined) await new Promise(() => process.stdout.write(`${order}\n`));
    });
    return { content: [] };
  },
);
tasks.tool("shop", { onCrash: "resume" }, async (_args, task) => {
  await Promise.all([1, 2, 3].map((order) => task.call(["buy", order], "order", { order })));
  return { content: [] };
});
await tasks.start();
const handler = createAdminHandler(tasks, { path: "/admin", authenticate: adminToken(token, "ann") });
const server = createServer(handler).listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/admin\n`);
});
