import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { testTasks } from "holdfast/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { addRelease } from "../../examples/recipes/approval.ts";
import { addCheckLinks } from "../../examples/recipes/fan-out.ts";
import { addTrip, type Bookings } from "../../examples/recipes/saga.ts";
import { addRender, byApiKey, limited } from "../../examples/recipes/tenant-limits.ts";
import { listen } from "../../src/server/http/listen.ts";
import { fullForm } from "../full-form.ts";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

/** Services that keep what is booked; the hotel has no rooms in Rome. */
function bookings(): { readonly booked: Set<string>; readonly services: Record<string, Bookings> } {
  const booked = new Set<string>();
  const service = (name: string): Bookings => ({
    book: async (key, city) => {
      booked.add(key);
      if (name === "hotel" && city === "Rome") throw new Error("no rooms");
      return `${name} in ${city}`;
    },
    cancel: async (key) => void booked.delete(key),
  });
  return { booked, services: { flight: service("flight"), hotel: service("hotel"), car: service("car") } };
}

it("shows a saga that books all once, or leaves nothing booked, through crashes", async () => {
  const { booked, services } = bookings();
  await using t = await testTasks((tasks) => addTrip(tasks, services));
  const died = t.crash({ before: ["book", "hotel"] });
  const task = await t.start("book_trip", { city: "Oslo" });
  await died;
  await t.restart();
  expect(await task.result()).toMatchObject(text("flight in Oslo, hotel in Oslo, car in Oslo"));
  expect(booked.size).toBe(3);
  booked.clear();

  const undone = t.crash({ before: ["cancel", "hotel"] });
  const failed = await t.start("book_trip", { city: "Rome" });
  await t.clock.advance("1m"); // the pauses between its tries
  await undone;
  await t.restart();
  expect(await failed.result()).toMatchObject({ isError: true });
  expect([...booked]).toEqual([]);
});

it("shows a tool that a signed webhook lets go on, over a restart", async () => {
  const asked: string[] = [];
  const published = new Map<string, string>();
  const current: { onDecision?: ReturnType<typeof addRelease> } = {};
  await using t = await testTasks((tasks) => {
    const release = {
      ask: async (_question: string, reference: string) => void asked.push(reference),
      publish: async (version: string, key: string) => void published.set(key, version),
    };
    current.onDecision = addRelease(tasks, release, "a secret");
  });
  const http = createServer((request, response) => {
    void current.onDecision?.(request).then((status) => response.writeHead(status).end());
  });
  const port = await listen(http, "127.0.0.1", 0);
  onTestFinished(() => void http.close());
  const send = async (body: string, secret = "a secret"): Promise<number> => {
    const headers = { "x-signature": createHmac("sha256", secret).update(body).digest("hex") };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body })).status;
  };
  const task = await t.start("release", { version: "1.2.0" });
  await vi.waitUntil(() => asked.length === 1);
  await t.crash();
  await t.restart();
  const decision = { id: "delivery 1", reference: asked[0], approved: true, by: "Ann" };
  expect(await send(JSON.stringify(decision), "guessed")).toBe(401);
  expect(await send(JSON.stringify({ ...decision, approved: "yes" }))).toBe(400);
  expect(await send(JSON.stringify({ ...decision, reference: "nobody" }))).toBe(410);
  expect(await send(JSON.stringify({ ...decision, by: "A".repeat(70_000) }))).toBe(413);
  expect(await send(JSON.stringify(decision))).toBe(204);
  expect(await task.result()).toMatchObject(text("1.2.0 is published. Ann has approved it."));
  expect([...published.values()]).toEqual(["1.2.0"]);
  expect(await send(JSON.stringify(decision))).toBe(410);
});

it("shows many items, none of which is done again after a crash", async () => {
  const count = fullForm ? 1_000 : 60;
  const gets = new Map<string, number>();
  const half = Promise.withResolvers<void>();
  await using t = await testTasks((tasks) =>
    addCheckLinks(tasks, async (url) => {
      gets.set(url, (gets.get(url) ?? 0) + 1);
      if (gets.size === count / 2) half.resolve();
      if (url.endsWith("/13")) return 404;
      return 200;
    }),
  );
  const urls = Array.from({ length: count }, (_, index) => `https://example.com/${index}`);
  const task = await t.start("check_links", { urls });
  await half.promise;
  await t.crash();
  await t.restart();
  expect(await task.result()).toMatchObject(
    text(`${count - 1} of ${count} links work.\nhttps://example.com/13: status 404`),
  );
  expect(gets.size).toBe(count);
  // Only what was under way at the crash ran twice.
  expect([...gets.values()].filter((times) => times > 1).length).toBeLessThanOrEqual(50);
});

it("shows tenants of which none waits for another", async () => {
  const tasks = createTasks({ store: memoryStore(), ...limited });
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  addRender(tasks, async (month) => {
    begun.push(month);
    await gate.promise;
    return month;
  });
  const users = new Map([
    ["key of ann", { user: "ann", tenant: "acme" }],
    ["key of bob", { user: "bob", tenant: "zenith" }],
  ]);
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" })),
    { authenticate: byApiKey(users) },
  );
  onTestFinished(() => handler.close());
  const as = (key: string): StatelessClient =>
    new StatelessClient("http://localhost/mcp", (url, init) => {
      const request = new Request(url, init);
      request.headers.set("x-api-key", key);
      request.headers.set("host", "localhost");
      return handler.fetch(request);
    });
  expect((await as("guessed").send("tools/list")).status).toBe(401);
  const ids: string[] = [];
  for (let n = 1; n <= 3; n++) ids.push(await as("key of ann").start("render", { month: `acme ${n}` }));
  const other = await as("key of bob").start("render", { month: "zenith 1" });
  await vi.waitUntil(() => begun.length === 3);
  expect(begun.toSorted()).toEqual(["acme 1", "acme 2", "zenith 1"]);
  gate.resolve();
  await vi.waitUntil(() => begun.length === 4);
  const read = await as("key of bob").send("tasks/get", { taskId: ids[0] });
  expect(read.error?.code).toBe(-32602);
  await vi.waitUntil(
    async () => (await as("key of bob").result("tasks/get", { taskId: other }))["status"] === "completed",
  );
});
