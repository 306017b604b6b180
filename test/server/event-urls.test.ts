import type { Tasks } from "holdfast";
import { createEventHandler, type OperatorEndpoint } from "holdfast/http";
import { testTasks, type TestTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { text } from "../runtime/harness.ts";

const eventsUrl = "https://example.com/events/";
const events = { approved: z.object({ by: z.string() }) };

interface Office {
  readonly t: TestTasks;
  /** The addresses that handlers gave out, by the keys of their waits. */
  readonly urls: ReadonlyMap<string, string>;
  /** The status of the answer to a POST of a value. */
  readonly post: (url: string | undefined, value: unknown, init?: RequestInit) => Promise<number>;
}

/** A tool that asks two people at once, each by an address of their own. */
async function office(): Promise<Office> {
  const urls = new Map<string, string>();
  let endpoint: OperatorEndpoint | undefined;
  const register = (tasks: Tasks): void => {
    endpoint = createEventHandler(tasks);
    tasks.tool("publish", { events }, async (_, task) => {
      const waits = ["ann", "bob"].map((name) => {
        const wait = task.waitForEvent(name, "approved");
        urls.set(name, wait.url);
        return wait;
      });
      const [ann, bob] = await Promise.all(waits);
      await task.step("publish", () => undefined);
      return text(`${ann?.by} ${bob?.by}`);
    });
  };
  const t = await testTasks(register, { eventsUrl });
  const post: Office["post"] = async (url = "", value, init) => {
    const headers = { "Content-Type": "application/json" };
    const request = new Request(url, { method: "POST", headers, body: JSON.stringify(value), ...init });
    const answer = await endpoint?.fetch(request);
    return answer?.status ?? 0;
  };
  return { t, urls, post };
}

it("ends the wait whose address was used, once, through a crash", async () => {
  const { t, urls, post } = await office();
  await using _ = t;
  const task = await t.start("publish");
  await t.clock.advance(0);
  const given = new Map(urls);
  expect(await post(given.get("bob"), { by: "Bob" })).toBe(204);
  expect(await post(given.get("bob"), { by: "Bob" })).toBe(410);
  await t.crash();
  await t.restart();
  await t.clock.advance(0);
  expect(urls).toEqual(given);
  expect(await post(given.get("bob"), { by: "Bob" })).toBe(410);
  expect(await post(given.get("ann"), { by: 3 })).toBe(400);
  expect(await post(given.get("ann"), { by: "Ann" })).toBe(204);
  expect(await task.result()).toMatchObject(text("Ann Bob"));
  expect(await post(given.get("ann"), { by: "Ann" })).toBe(410);
});

it("takes no address that the server did not make, and nothing but a POST of JSON", async () => {
  const { t, urls, post } = await office();
  await using _ = t;
  await t.start("publish");
  await t.clock.advance(0);
  const url = urls.get("ann") ?? "";
  const [content = "", signature = ""] = url.split("/").at(-1)?.split(".") ?? [];
  const other = Buffer.from(Buffer.from(content, "base64url").toString().replace("ann", "bob")).toString(
    "base64url",
  );
  for (const token of [
    `${other}.${signature}`,
    `${content}.`,
    content,
    `${content}.${signature}.`.slice(0, -4),
    "x",
    "",
  ])
    expect(await post(`${eventsUrl}${token}`, { by: "Eve" })).toBe(404);
  expect(await post(url, undefined, { method: "GET", body: null })).toBe(405);
  expect(await post(url, { by: "Ann" }, { headers: { "Content-Type": "text/plain" } })).toBe(415);
  expect(await post(url, { by: "Ann" })).toBe(204);
});

it("ends nothing of a task that has ended, and says what a server without addresses lacks", async () => {
  const { t, urls, post } = await office();
  await using _ = t;
  const task = await t.start("publish");
  await t.clock.advance(0);
  const url = urls.get("ann") ?? "";
  await task.cancel();
  expect(await post(url, { by: "Ann" })).toBe(410);
  await using none = await testTasks((tasks) => {
    tasks.tool("publish", {}, async (_args, task_) => task_.waitForEvent("a", "b").url);
  });
  expect(JSON.stringify(await none.call("publish").catch((error: Error) => error.message))).toContain(
    "eventsUrl",
  );
  // @ts-expect-error -- no tasks
  expect(() => createEventHandler({})).toThrow("createEventHandler takes what createTasks returns");
});
