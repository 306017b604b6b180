import { expect, it } from "vitest";
import { SentRecords } from "../../../src/store/sqlite/known-records.ts";
import type { CommandAnswer } from "../../../src/store/sqlite/writer-connection.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { seededRandom } from "../../crash/random.ts";

const record = (id: string, more: object = {}): TaskRecord =>
  ({ id, version: 1, state: "running", finishedAt: null, attempts: [], ...more }) as unknown as TaskRecord;
const changed = (task: TaskRecord): CommandAnswer => ({ result: { ok: true, task } });

it("sends of a task that was sent before only what has changed", () => {
  const [here, there] = [new SentRecords(), new SentRecords()];
  const first = record("a", { suspicion: { at: 1 } });
  expect(there.unpack(here.pack(changed(first)))).toEqual(changed(first));
  const second = { ...first, version: 2, state: "waiting" } as unknown as TaskRecord;
  const sent = here.pack(changed(second));
  expect(sent).toEqual({ result: { ok: true }, taskId: "a", changed: { version: 2, state: "waiting" } });
  expect(there.unpack(structuredClone(sent))).toEqual(changed(second));
  const { suspicion: _, ...third } = second as TaskRecord & { suspicion: object };
  expect(there.unpack(here.pack(changed(third as TaskRecord)))).toEqual(changed(third as TaskRecord));
});

it("passes on what is about no task as it is", () => {
  const refused: CommandAnswer = { result: { ok: false, reason: "fenced" } };
  const failed: CommandAnswer = { problem: "disk I/O error", code: "store_failed" };
  const sent = new SentRecords();
  for (const answer of [refused, failed]) expect(sent.unpack(sent.pack(answer))).toEqual(answer);
});

it("has the same records at both ends, however many tasks there are, end and come again", () => {
  const random = seededRandom(20_261_129);
  const [here, there] = [new SentRecords(5), new SentRecords(5)];
  const known = new Map<string, TaskRecord>();
  let whole = 0;
  for (let turn = 0; turn < 5_000; turn++) {
    const id = `t${Math.floor(random() * 12)}`;
    const before = known.get(id);
    const task = record(id, {
      version: (before?.version ?? 0) + 1,
      finishedAt: random() < 0.2 ? turn : null,
      attempts: random() < 0.5 ? (before?.attempts ?? []) : [{ number: turn }],
    });
    known.set(id, task);
    const sent = structuredClone(here.pack(changed(task)));
    if ("task" in sent) whole++;
    expect(there.unpack(sent)).toEqual(changed(task));
  }
  expect(whole).toBeGreaterThan(1_000);
  expect(whole).toBeLessThan(4_500);
});
