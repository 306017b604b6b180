import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { showTask } from "../../src/admin/show-task.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { ServerEvent } from "../../src/runtime/events/server-event.ts";
import { rest } from "../../src/testing/clocks.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { fullForm } from "../full-form.ts";
import { text, withTasks } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { listenParams } from "../kit/subscription.ts";
import { clockedServer } from "./plain/clocked-server.ts";

const hour = 3_600_000;
const calls = fullForm ? 200 : 20;

/** When a call loses its connection: while its task is made, or when its answer is about to be written. */
type Loss = "creating" | "answering";

/** A server over HTTP on a clock that the test moves, whose tool `work` runs until it is cancelled. */
async function served(options: RuntimeOptions = {}, principal?: string) {
  const store = memoryStore();
  const write = store.write.bind(store);
  let held = Promise.withResolvers<void>();
  held.resolve();
  const ids: string[] = [];
  store.write = async (command) => {
    if (command.type === "create") {
      ids.push((command as unknown as { task: TaskRecord }).task.id);
      await held.promise;
    }
    return write(command);
  };
  const events: ServerEvent[] = [];
  const { server, clock, errors } = await clockedServer(
    (tools) =>
      void tools.tool("work", {}, async (_, task) => {
        await task.log("info", "begun");
        task.signal.throwIfAborted();
        await new Promise((_resolve, reject) => {
          task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
        });
        return text("never");
      }),
    {
      store,
      runtimeOptions: { concurrency: 1_000, ...options },
      onEvent: (event) => void events.push(event),
    },
  );
  const handler = createNodeHandler(server, {
    allowedHosts: "any",
    ...(principal !== undefined && { authenticate: async () => principal }),
  });
  let losesAnswers = false;
  let sentCalls = 0;
  const http = createServer((incoming: IncomingMessage, outgoing) => {
    const end = outgoing.end.bind(outgoing) as (...given: unknown[]) => typeof outgoing;
    outgoing.end = (...given: unknown[]) => {
      if (losesAnswers) incoming.socket.destroy();
      return end(...given);
    };
    handler(incoming, outgoing);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    http.close();
    http.closeAllConnections();
    const closing = handler.close();
    await clock.advance(60_000); // as long as it waits for handlers
    await closing;
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const post = (headers: object, params: object): IncomingRequest => {
    const accept = "application/json, text/event-stream";
    const sent = httpRequest(url, {
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json", accept, ...headers },
    });
    sent.on("error", () => undefined);
    sent.end(
      JSON.stringify({ jsonrpc: "2.0", id: `call ${(sentCalls += 1)}`, method: "tools/call", params }),
    );
    return sent;
  };
  return {
    url,
    clock,
    store,
    events,
    errors,
    /** Makes calls whose answers do not arrive, and resolves with the ids of their tasks. */
    lose: async (loss: Loss, headers: object, params: object): Promise<readonly string[]> => {
      const before = ids.length;
      held = Promise.withResolvers();
      const sent = Array.from({ length: calls }, () => post(headers, params));
      await vi.waitUntil(() => ids.length === before + calls, { timeout: 30_000 });
      if (loss === "answering") losesAnswers = true;
      else {
        for (const each of sent) each.socket?.destroy();
        // What is closed is noticed before what is sent after it.
        for (let turn = 0; turn < 5; turn++) await (await fetch(new URL("/healthz", url))).text();
      }
      held.resolve();
      await vi.waitUntil(() => sent.every(({ closed }) => closed), { timeout: 30_000 });
      await rest();
      losesAnswers = false;
      return ids.slice(before);
    },
    states: async (of: readonly string[]): Promise<ReadonlySet<string | undefined>> =>
      new Set(await Promise.all(of.map(async (id) => (await store.get(id))?.state))),
  };
}

type IncomingRequest = ReturnType<typeof httpRequest>;

const modern = {
  headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "work" },
  params: { ...listenParams({}, withTasks), name: "work", arguments: {} },
};

it.each<Loss>(["creating", "answering"])(
  "cancels tasks of 2026-07-28 whose connections broke while %s, and no others",
  async (loss) => {
    const { url, clock, lose, states, errors, events, store } = await served();
    const peer = new StatelessClient(url);
    const delivered = await peer.start("work");
    const lost = await lose(loss, modern.headers, modern.params);
    expect(await states([delivered])).toEqual(new Set(["running"]));
    if (loss === "answering") {
      const until = clock.now() + hour;
      const abandoned = events.filter((event) => event.type === "task.abandoned");
      expect(abandoned.map((event) => event.until)).toEqual(Array<number>(calls).fill(until));
      const details = await showTask(store, lost[0] ?? "", clock.now());
      expect(details).toMatchObject({ state: "running", abandonedAt: until, cancelRequestedAt: null });
      await clock.advance(hour - 1);
      expect(await states(lost)).toEqual(new Set(["running"]));
      await clock.advance(1);
      expect((await store.get(lost[0] ?? ""))?.statusMessage).toBe(
        "Cancelled because its id did not reach the caller, who never asked for the task.",
      );
    } else await clock.advance(hour);
    expect(await states(lost)).toEqual(new Set(["cancelled"]));
    expect(await states([delivered])).toEqual(new Set(["running"]));
    expect(errors).toEqual([]);
  },
);

it("lets a task go on whose client comes back with its id, and cancels it only when asked", async () => {
  const { url, clock, lose, states, store } = await served();
  const peer = new StatelessClient(url);
  await peer.start("work");
  const [polled = "", asked = "", ...others] = await lose("answering", modern.headers, modern.params);
  await clock.advance(hour - 1);
  await peer.result("tasks/get", { taskId: polled });
  await peer.result("tasks/cancel", { taskId: asked });
  await clock.advance(2 * hour);
  expect(await states([polled])).toEqual(new Set(["running"]));
  expect(await states([asked, ...others])).toEqual(new Set(["cancelled"]));
  expect((await store.get(asked))?.statusMessage).toBe("Cancelled by the caller.");
});

it("cancels no task that its caller finds by an idempotency key, nor any with abandonAfterMs null", async () => {
  const keyed = await served();
  await new StatelessClient(keyed.url).start("work");
  const { _meta: meta } = modern.params as unknown as { _meta: object };
  const _meta = { ...meta, "holdfast/idempotencyKey": "k".repeat(22) };
  const found = await keyed.lose("answering", modern.headers, { ...modern.params, _meta });
  const never = await served({ abandonAfterMs: null });
  await new StatelessClient(never.url).start("work");
  const left = await never.lose("answering", modern.headers, modern.params);
  await Promise.all([keyed.clock.advance(2 * hour), never.clock.advance(2 * hour)]);
  const [first = ""] = found; // of which the others are repetitions
  expect(await keyed.states([first])).toEqual(new Set(["running"]));
  expect(await never.states(left)).toEqual(new Set(["running"]));
});

it.each<[string, string | undefined, string]>([
  ["cancels tasks of 2025-11-25 whose session nobody else can list", undefined, "cancelled"],
  ["keeps tasks of 2025-11-25 that their principal can list", "ada", "running"],
])("%s", async (_, principal, expected) => {
  const { url, clock, lose, states, errors } = await served({}, principal);
  const session = await SessionClient.open(url);
  const { result } = await session.request("tools/call", { name: "work", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const headers = { "mcp-protocol-version": "2025-11-25", "mcp-session-id": session.sessionId };
  // What the server reads of a log to send it on is no question of its client.
  const _meta = { progressToken: "p" };
  const lost = await lose("creating", headers, { name: "work", arguments: {}, task: {}, _meta });
  expect(await states(lost)).toEqual(new Set(["running"])); // their client may resume the streams
  await clock.advance(hour);
  expect(await states(lost)).toEqual(new Set([expected]));
  expect(await states([taskId])).toEqual(new Set(["running"]));
  expect(errors).toEqual([]);
});
