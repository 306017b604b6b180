import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createTasks } from "../../src/server/tasks.ts";
import { exportJournal } from "../../src/store/export-journal.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { checkReplay } from "../../src/testing/check-replay.ts";
import { fullForm } from "../full-form.ts";
import { rest } from "../../src/testing/clocks.ts";
import { nobody, Process, text, type Handler } from "../runtime/harness.ts";
import { play, programs, type Program, type Witness } from "../runtime/random-handlers.ts";
import { turns } from "../runtime/slow-store.ts";

const value = JSON.stringify({ action: "accept", content: {} });

/** What happens to the task before it is recorded. */
const events = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("answer" as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant("time" as const), ms: fc.constantFrom(1, 800, 6_000) }),
    fc.constant({ kind: "crash" as const }),
  ),
  { maxLength: 8 },
);

const handlerOf =
  (program: Program, ran: Witness["ran"]): Handler =>
  async (_, task) =>
    text(await play(program, task, { ended: () => undefined, ran }));

async function calm(): Promise<void> {
  for (let round = 0; round < 10; round++) await rest();
}

it(
  "a recording of whatever a handler has come to is fine with the same handler, of which no step runs",
  { timeout: 1_800_000 },
  async () => {
    const ends = new Map<string, number>();
    const property = fc.asyncProperty(programs, events, async (program, happenings) => {
      const ran: Witness["ran"] = async (key, count) => (await turns(count), `ran ${key}`);
      const config = { onCrash: "resume" as const };
      const options = { maxCrashes: 99, crashBackoffMs: 1, maxCrashBackoffMs: 1, maxParkedFrames: 0 };
      const setup = { tools: { job: { config, handler: handlerOf(program, ran) } }, options };
      let process = await Process.started(setup);
      const id = await process.callId("job");
      for (const happening of happenings) {
        await calm();
        if (happening.kind === "time") await process.clock.advance(happening.ms);
        else if (happening.kind === "crash") process = await process.crash(setup);
        else {
          const { inputs = [] } = (await process.store.snapshot(id)) ?? {};
          const answers = inputs.slice(0, happening.count).map(({ key }) => ({ key, value }));
          await process.runtime.answer(id, nobody, answers);
        }
      }
      await calm();
      const recording = await exportJournal(process.store, id);
      await process.runtime.stop();

      const again: string[] = [];
      const replays: Witness["ran"] = async (key) => (again.push(key), "again");
      const tasks = createTasks({ store: memoryStore() });
      tasks.tool("job", config, handlerOf(program, replays));
      const { ok, problems, end, outcome } = await checkReplay(tasks, recording, { settleMs: 20 });
      expect([problems, ok, again]).toEqual([[], true, []]);
      if (recording.outcome !== undefined) expect(outcome).toEqual(recording.outcome);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    });
    await fc.assert(property, { numRuns: fullForm ? 3_000 : 200 });
    expect(Math.min(ends.get("waits") ?? 0, ends.get("returned") ?? 0)).toBeGreaterThan(10);
  },
);
