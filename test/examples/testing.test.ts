import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { addPublish } from "../../examples/testing/publish.ts";
import { example } from "../docs/example-process.ts";

it("shows tests of a tool that Node's own runner runs", async () => {
  const child = spawn(process.execPath, ["--test-reporter=tap", example("testing/publish.test.ts")]);
  const exited = once(child, "exit");
  const [output] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(output).toMatch(/^# pass 2$/m);
  expect(output).toMatch(/^# fail 0$/m);
  expect(await exited).toEqual([0, null]);
});

it("runs the same in vitest", async () => {
  const sent: string[][] = [];
  await using t = await testTasks((tasks) =>
    addPublish(tasks, { send: async (rows) => void sent.push(rows) }),
  );
  t.answers({ approve: { action: "accept" } });
  const task = await t.start("publish", { month: "2026-10" });
  await t.clock.advance("2d");
  expect((await task.result()).content).toEqual([{ type: "text", text: "sent 2 rows" }]);
  expect(sent).toHaveLength(1);
});
