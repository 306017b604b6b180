import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { ListenSlots } from "../../src/server/listen/listening.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { listenTo, Subscription } from "../kit/subscription.ts";

it("gives each principal so many slots, and back again once", () => {
  const slots = new ListenSlots(2);
  const first = slots.acquire("alice");
  slots.acquire("alice");
  expect(() => slots.acquire("alice")).toThrow(expect.objectContaining({ code: "limit_reached" }));
  slots.acquire("bob");
  first();
  first();
  const again = slots.acquire("alice");
  expect(() => slots.acquire("alice")).toThrow("2 listen streams");
  again();
  for (let i = 0; i < 10; i += 1) slots.acquire(null);
});

it("refuses a principal one stream too many, and lets it listen again when one has ended", async () => {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("add", {}, () => text("3")),
    http: { anonymous: "shared" },
    options: { maxListensPerPrincipal: 1 },
  });
  const filter = { taskIds: [] };
  const first = await Subscription.to(http.url, filter);
  const refused = await listenTo(http.url, filter);
  expect(await refused.json()).toMatchObject({ error: { code: -32000 } });
  await first.leave();
  while (!(await listens(http.url))); // its end reaches the server when it does
});

it("refuses a stream that names too many tasks", async () => {
  const tools = (tasks: Tasks): void => void tasks.tool("add", {}, () => text("3"));
  const { http } = await serve({ tools, options: { maxIdsPerListen: 2 } });
  const refused = await listenTo(http.url, { taskIds: ["a", "b", "c"] });
  expect(await refused.json()).toMatchObject({ error: { code: -32602 } });
  await (await Subscription.to(http.url, { taskIds: ["a", "b"] })).leave();
});

async function listens(url: string): Promise<boolean> {
  const response = await listenTo(url, { taskIds: [] });
  const begun = response.headers.get("content-type") === "text/event-stream";
  await response.body?.cancel();
  return begun;
}
