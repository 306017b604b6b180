import fc from "fast-check";
import { it } from "vitest";
import { wireTask as coreTask } from "../../src/generation/2025-11-25.ts";
import { wireTask as extensionTask } from "../../src/generation/2026-07-28.ts";
import { wireTask as sepTask } from "../../src/generation/sep-1686.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import { isUnknownTask } from "../../src/task/fault.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { Process, text, type Handler } from "./harness.ts";

const hour = 3_600_000;

/** What each generation shows of how long a task lives, in ms; Infinity: without end. */
const shown = {
  "2026-07-28": (snapshot: TaskSnapshot) => extensionTask(snapshot).ttlMs ?? Infinity,
  "2025-11-25": ({ task }: TaskSnapshot) => coreTask(task).ttl ?? Infinity,
  "sep-1686": ({ task }: TaskSnapshot) => sepTask(task).keepAlive ?? Infinity,
};
type Shown = keyof typeof shown;

/** Mostly alike, so that tasks end in all parts of their lives. */
const ms = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1_000, max: 5_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2_000 * hour }) },
);
const options: fc.Arbitrary<RuntimeOptions> = fc.record(
  {
    keepMs: ms.map((n) => Math.max(n, 1_000)),
    ttlMs: fc.oneof(ms, fc.constant(null)),
    maxRunMs: ms.map((n) => n + 1),
    requestedTtl: fc.constantFrom("task" as const, "result" as const),
  },
  { requiredKeys: [] },
);
const moves = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("pass" as const), ms }),
    fc.record({ type: fc.constantFrom("restart" as const, "crash" as const), options }),
    fc.record({ type: fc.constantFrom("extend" as const, "answer" as const, "cancel" as const) }),
  ),
  { maxLength: 8 },
);

/** Asks, time and again, and lives on without end once it is told to. */
const asks: Handler = async (args, task) => {
  for (let round = 0; ; round++) {
    const { action } = await task.elicit(`go on ${round}`, {
      message: "?",
      requestedSchema: { type: "object", properties: {} },
    });
    if (action !== "accept") return text("done");
    await task.extend(null);
  }
};

it("shows no ttl that shrinks, in any generation, through restarts with other options [X-023 S-036]", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Shown>("2026-07-28", "2025-11-25", "sep-1686"),
      fc.option(ms, { nil: undefined }),
      options,
      moves,
      async (generation, askedMs, first, life) => {
        const owner = { generation, principal: null };
        const tools = { asks: { config: { onCrash: "resume" as const }, handler: asks } };
        let process = await Process.started({ tools, options: first });
        const call: Partial<TaskCall> = {
          ...owner,
          ...(askedMs !== undefined && generation !== "2026-07-28" && { ttlMs: askedMs }),
          ...(generation === "sep-1686" && { keepAlive: true as const }),
        };
        let last = -1;
        const look = async (snapshot: TaskSnapshot): Promise<void> => {
          const next = shown[generation](snapshot);
          if (next < last) throw new Error(`${next} after ${last}`);
          last = next;
        };
        const created = await process.call("asks", call);
        const { id } = created.task;
        try {
          await look(created);
          for (const move of life) {
            const { task, inputs } = await process.runtime.get(id, owner);
            const [question] = inputs;
            if (move.type === "pass") {
              process.clock.jump(move.ms);
              await process.clock.advance(1);
            } else if (move.type === "crash") process = await process.crash({ tools, options: move.options });
            else if (move.type === "restart")
              process = await process.restart({ tools, options: move.options });
            else if (task.finishedAt === null && move.type === "cancel")
              await process.runtime.cancelNow(id, owner);
            else if (question !== undefined) {
              const action = move.type === "extend" ? "accept" : "decline";
              const value = JSON.stringify({ action, ...(action === "accept" && { content: {} }) });
              await process.runtime.answer(id, owner, [{ key: question.key, value }]);
              await process.clock.advance(1);
            }
            await look(await process.runtime.get(id, owner));
            const [listed] = await process.runtime.list(owner, { limit: 1 });
            if (listed !== undefined)
              await look({ ...created, ...(await process.runtime.get(id, owner)), task: listed });
          }
        } catch (error) {
          if (!isUnknownTask(error)) throw error; // its time was over
        } finally {
          await process.runtime.stop(0);
        }
      },
    ),
  );
});
