import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { addPublish } from "../../examples/testing/publish.ts";
import { example } from "../docs/example-process.ts";

it.each([
  ["publish", 2],
  ["reports", 1],
])("shows tests of a tool that Node's own runner runs: %s", async (name, passes) => {
  const child = spawn(process.execPath, ["--test-reporter=tap", example(`testing/${name}.test.ts`)]);
  const exited = once(child, "exit");
  const [output] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(output).toContain(`\n# pass ${passes}\n`);
  expect(output).toMatch(/^# fail 0$/m);
  expect(await exited).toEqual([0, null]);
});

it("says in the guide what it shows", async () => {
  const pages = ["testing", "existing-server"].map((name) =>
    readFile(new URL(`../../docs/recipes/${name}.md`, import.meta.url), "utf8"),
  );
  const guide = (await Promise.all(pages)).join("");
  for (const name of ["publish.ts", "publish.test.ts", "reports.test.ts"]) {
    expect(guide).toContain(await readFile(example(`testing/${name}`), "utf8"));
  }
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
