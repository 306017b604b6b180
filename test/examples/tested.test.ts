import { readFile } from "node:fs/promises";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { addOrder } from "../../examples/guides/add-order.ts";
import { addRelease } from "../../examples/guides/add-release.ts";
import { addPublish } from "../../examples/guides/changing-code.ts";
import { example } from "../docs/example-process.ts";

const text = (said: string): object => ({ content: [{ type: "text", text: said }] });

it("shows a release whose server dies in its tests, at its question and as it publishes", async () => {
  const published = new Map<string, string>();
  await using t = await testTasks((tasks) =>
    addRelease(tasks, {
      test: async (name) => name.length,
      publish: async (version, key) => void published.set(key, version),
    }),
  );
  const tested = t.crash({ after: "test" });
  const task = await t.start("release", { version: "1.0.0", names: ["core", "cli", "docs"] });
  await tested;
  await t.restart();
  const { params } = await task.question("approve");
  expect(params["message"]).toBe("Release 1.0.0 after 11 tests?");
  await t.crash();
  await t.restart();
  const publishing = t.crash({ before: "publish" });
  await task.answer("approve", { action: "accept", content: {} });
  await publishing;
  await t.restart();
  expect(await task.result()).toMatchObject(text("released 1.0.0 after 11 tests"));
  expect([...published.values()]).toEqual(["1.0.0"]);
  expect(task.runs("publish")).toBe(2);
  await task.assertJournal(['["tests",0]', '["tests",1]', '["tests",2]', "approve", "publish"]);
});

it("shows a release that nobody approved, and one whose tests fail", async () => {
  const packages = {
    test: (name: string) => (name === "cli" ? Promise.reject(new Error("2 fail")) : Promise.resolve(1)),
    publish: () => Promise.reject(new Error("not to be published")),
  };
  await using t = await testTasks((tasks) => addRelease(tasks, packages));
  t.answers({ approve: { action: "decline" } });
  expect(await t.call("release", { version: "1.0.1", names: ["core"] })).toMatchObject(
    text('not released: Tool "approve" failed: nobody approved it'),
  );
  expect(await t.call("release", { version: "1.0.2", names: ["core", "cli"] })).toMatchObject({
    ...text('Tool "test_package" failed: 2 fail'),
    isError: true,
  });
});

it("shows an order that is tried again, by its step and by its tool, over a restart", async () => {
  await using t = await testTasks(addOrder);
  const task = await t.start("order", { item: "tea" });
  await t.clock.advance(0);
  expect(t.runs("order")).toBe(1);
  await t.restart();
  await t.clock.advance("1m");
  expect(await task.result()).toMatchObject(text("order 42: tea for 3"));
  expect([t.runs("price"), t.runs("order")]).toEqual([1, 4]);
  expect(await t.call("order", { item: "gold" })).toMatchObject({
    ...text("The shop has no gold."),
    isError: true,
  });
});

it("shows figures that are published once, after approval", async () => {
  await using t = await testTasks(addPublish);
  const task = await t.start("publish", { from: "2026-10-05", to: "2026-10-11" });
  const sent = t.crash({ after: "send" });
  await task.answer("approve", { action: "accept", content: {} });
  await sent;
  await t.restart();
  expect(await task.result()).toMatchObject(text("published 3 rows"));
  expect([t.runs("send"), t.runs("archive")]).toEqual([1, 1]);
});

it("says in the guide what it shows", async () => {
  const guide = await readFile(new URL("../../docs/learn/server.md", import.meta.url), "utf8");
  expect(guide).toContain(await readFile(example("guides/add-order.ts"), "utf8"));
});
