import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler, serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { inTime } from "../../../src/runtime/runtime-lifecycle.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { CollectedMetrics } from "../../telemetry/collected-metrics.ts";
import { Held, storeFailed, watchedStore, type BeforeCall } from "../../runtime/watched-store.ts";

/** A handler behind a token, which nobody has here. */
function setup(before: BeforeCall) {
  const tasks = createTasks({ store: watchedStore(memoryStore(), before), onError: () => undefined });
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const handler = createFetchHandler(server, { authenticate: async () => undefined });
  const probe = async (path: string, method = "GET"): Promise<[number, string]> => {
    const response = await handler.fetch(new Request(`http://localhost${path}`, { method }));
    return [response.status, await response.text()];
  };
  return { tasks, handler, probe };
}

it("is ready from its start to its stop, as far as its store answers, and healthy all the time", async () => {
  const starting = new Held("renew");
  let broken = false;
  const { tasks, handler, probe } = setup(async (call, id) => {
    await starting.before(call, id);
    if (broken && call === "nextSweepAt") throw storeFailed();
  });
  const seen: number[] = [];
  const look = async (): Promise<void> => {
    expect(await probe("/healthz")).toEqual([200, "ok"]);
    seen.push((await probe("/readyz"))[0]);
  };
  await look();
  const started = tasks.start();
  await starting.reached;
  await look();
  starting.open();
  await started;
  await look();
  broken = true;
  await look();
  broken = false;
  await look();
  await tasks.stop();
  await look();
  expect(seen).toEqual([503, 503, 200, 503, 200, 503]);
  await handler.close();
  expect([await probe("/healthz"), (await probe("/readyz"))[0]]).toEqual([[200, "ok"], 503]);
});

it("is not ready while its store takes no writes, although it answers reads", async () => {
  let isFull = false;
  const { http } = await serve({
    tools: (tasks) => tasks.tool("greet", {}, () => text("Hello")),
    options: {
      store: watchedStore(memoryStore(), (call) => {
        if (isFull && (call === "create" || call === "delete_expired")) throw storeFailed();
      }),
    },
  });
  const client = new StatelessClient(http.url);
  const ready = async (): Promise<number> => (await fetch(new URL("/readyz", http.url))).status;
  expect(await ready()).toBe(200);
  isFull = true;
  expect((await client.call("greet")).error).toMatchObject({ code: -32_603 });
  expect([await ready(), await ready()]).toEqual([503, 503]);
  isFull = false;
  expect([await ready(), await ready()]).toEqual([200, 200]);
  expect((await client.call("greet")).error).toBeUndefined();
});

it("answers HEAD, names no cause, and leaves other methods to the protocol's path", async () => {
  const { tasks, handler, probe } = setup(() => undefined);
  onTestFinished(() => handler.close());
  expect((await probe("/readyz"))[1]).toContain("The server cannot accept requests right now.");
  await tasks.start();
  onTestFinished(() => tasks.stop());
  expect(await probe("/readyz")).toEqual([200, "ready"]);
  expect((await probe("/readyz", "HEAD"))[0]).toBe(200);
  expect((await probe("/readyz", "POST"))[0]).toBe(404);
});

it.each([
  [-3_600_000, "ready, but this machine's clock is 3600 s ahead of that of the database", -3_600],
  [90_000, "ready, but this machine's clock is 90 s behind that of the database", 90],
  [1_000, "ready", 1],
])("says how far the machine's clock is off: %d ms", async (offMs, answer, seconds) => {
  const metrics = new CollectedMetrics();
  const store = memoryStore();
  const renew = store.renew.bind(store);
  store.renew = async () => ({ ...(await renew()), now: Date.now() + offMs });
  const { http } = await serve({ tools: () => undefined, options: { store, telemetry: metrics.telemetry } });
  expect(await (await fetch(new URL("/readyz", http.url))).text()).toBe(answer);
  const [point] = await metrics.points("holdfast.clock.offset");
  expect(Math.round(point?.value as number)).toBe(seconds);
});

it("looks at the store once for all who ask at a time", async () => {
  const held = new Held("nextSweepAt");
  let looks = 0;
  let started = false;
  const swept = Promise.withResolvers<void>();
  const { tasks, handler, probe } = setup(async (call, id) => {
    if (call !== "nextSweepAt") return;
    swept.resolve(); // the sweep of the start asks for the time of the next one
    if (!started) return;
    looks += 1;
    await held.before(call, id);
  });
  await tasks.start();
  onTestFinished(() => tasks.stop());
  onTestFinished(() => handler.close());
  await swept.promise;
  started = true;
  const probes = Array.from({ length: 20 }, () => probe("/readyz"));
  await held.reached;
  held.open();
  expect((await Promise.all(probes)).map(([status]) => status)).toEqual(Array(20).fill(200));
  expect(looks).toBeLessThanOrEqual(2); // the sweeper may look too
});

it("does not wait for a store that does not answer", async () => {
  const clock = new FakeClock();
  const held = new Held("nextSweepAt");
  const answers = inTime(async () => held.before("nextSweepAt", undefined), clock, 2_000);
  await clock.advance(2_000);
  expect(await answers).toBe(false);
});

it("is ready on a server that listens", async () => {
  const tasks = createTasks({ store: memoryStore() });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  expect((await fetch(new URL("/readyz", http.url))).status).toBe(200);
});
