import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testTasks } from "holdfast/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { addChecks } from "../../examples/ci-runner/add-checks.ts";

it("runs the checks of a project, which go on while the server is killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-ci-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const waits = "echo x >> runs; until test -e gate; do sleep 0.02; done";
  const options = { execFolder: join(folder, "exec") };
  const checks = { types: ["sh", "-c", waits], lint: ["sh", "-c", "echo 'unused: a'; exit 1"] } as const;
  await using t = await testTasks((tasks) => addChecks(tasks, folder, checks), options);
  const task = await t.start("run_checks", {});
  await vi.waitUntil(async () => (await task.output()).length === 1, { timeout: 60_000 });
  await t.crash();
  await t.restart();
  await writeFile(join(folder, "gate"), "");
  const { content } = await task.result();
  expect(content).toEqual([{ type: "text", text: "types: passed\nlint: failed with exit code 1" }]);
});
