import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { TaskCommand } from "../../../src/task/command.ts";
import type { TaskSnapshot } from "../../../src/task/record.ts";
import { createRunning, noon } from "../../contract/sample-task.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();
const id = "task-a";
const held = { id, now: noon, token: "t1" } as const;
const asks: TaskCommand = {
  ...held,
  type: "open_input",
  input: { key: "q", method: "roots/list", params: "{}" },
  requestHash: "hash",
  deadlineAt: null,
};
const settles: TaskCommand = { ...held, type: "settle", outcome: { kind: "result", body: '{"content":[]}' } };

/** Reads a task to which `sql` happens after its record was read, and before the rest is. */
async function readAround(before: readonly TaskCommand[], sql: string): Promise<TaskSnapshot | undefined> {
  const store = await files.open();
  await store.write(createRunning("a"));
  for (const command of before) expect(await store.write(command)).toMatchObject({ ok: true });
  const other = new DatabaseSync(files.path(), { timeout: 20_000 });
  onTestFinished(() => other.close());
  return store.snapshot(id, () => (other.exec(sql), true));
}

const remove = "DELETE FROM task; DELETE FROM journal; DELETE FROM outcome;";

test("a task that is deleted while it is read is as good as none", async () => {
  expect(await readAround([settles], remove)).toBeUndefined();
});

test("a task with questions that is deleted while it is read is as good as none", async () => {
  expect(await readAround([asks], remove)).toBeUndefined();
});

test("a task that ends while its questions are read shows its outcome", async () => {
  const snapshot = await readAround(
    [asks],
    `UPDATE task SET state = 'settled', open_inputs = 0, token = NULL, outcome_kind = 'result';
     INSERT INTO outcome VALUES ('${id}', 'result', '{"content":[1]}');`,
  );
  expect(snapshot).toMatchObject({
    task: { state: "settled", openInputs: 0 },
    inputs: [],
    outcome: { kind: "result", body: '{"content":[1]}' },
  });
});

test("a finished task without its outcome cannot be read", async () => {
  const reading = readAround([settles], "DELETE FROM outcome");
  await expect(reading).rejects.toMatchObject({ code: "task_unreadable" });
});
