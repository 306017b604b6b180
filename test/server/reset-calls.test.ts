import { request as httpRequest } from "node:http";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import type { TaskRecord } from "../../src/task/record.ts";
import { text, withTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { listenParams } from "../kit/subscription.ts";

const modern = {
  headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "slow" },
  params: { ...listenParams({}, withTasks), name: "slow", arguments: {} },
};
const earlier = {
  headers: { "mcp-protocol-version": "2025-11-25" },
  params: { name: "slow", arguments: {}, task: {} },
};
const key = { "holdfast/idempotencyKey": "k".repeat(22) };
const keyed = ({ headers, params }: typeof modern | typeof earlier): Wire => ({
  headers,
  params: { ...params, _meta: { ...("_meta" in params ? (params._meta as object) : {}), ...key } },
});

interface Wire {
  readonly headers: Readonly<Record<string, string>>;
  readonly params: object;
}

/** A connection that is reset when the test says so, as by a client that was killed. */
function send(url: string, { headers, params }: Wire): () => void {
  const accept = "application/json, text/event-stream";
  const sent = httpRequest(url, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", accept, ...headers },
  });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  return () => void sent.socket?.resetAndDestroy();
}

it.each<[string, Wire, boolean]>([
  ["cancels the task of a call of 2026-07-28 whose connection is reset", modern, true],
  ["cancels the task of a call of 2025-11-25 without a session whose connection is reset", earlier, true],
  ["keeps it on 2026-07-28 where the caller can ask again by its key", keyed(modern), false],
  ["keeps it on 2025-11-25 where the caller can ask again by its key", keyed(earlier), false],
])("%s while its task is made [A-32]", async (_, wire, cancels) => {
  const store = memoryStore();
  const write = store.write.bind(store);
  const inserting = Promise.withResolvers<string>();
  const gate = Promise.withResolvers<void>();
  store.write = async (command) => {
    if (command.type === "create") {
      inserting.resolve((command as unknown as { task: TaskRecord }).task.id);
      await gate.promise;
    }
    return write(command);
  };
  const ends = Promise.withResolvers<void>();
  const { http, errors } = await serve({
    tools: (tasks) =>
      tasks.tool("slow", {}, async (__, task) => {
        task.signal.addEventListener("abort", () => ends.resolve());
        if (!cancels) return text("done");
        await ends.promise;
        throw task.signal.reason;
      }),
    http: { sessions: false, anonymous: "shared" },
    options: { store },
  });
  const reset = send(http.url, wire);
  const id = await inserting.promise;
  reset();
  await closed(http.url);
  gate.resolve();
  let task = await store.get(id);
  while (task === undefined || task.finishedAt === null) {
    await new Promise((resolve) => setImmediate(resolve));
    task = await store.get(id);
  }
  expect([task.state, task.cancelRequestedAt !== null]).toEqual(
    cancels ? ["cancelled", true] : ["settled", false],
  );
  expect(errors).toEqual([]);
});

/** Resolves when the server has read all that came before: what is reset is noticed before what is sent after it. */
async function closed(url: string): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await (await fetch(new URL("/healthz", url))).text();
}
