import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "vitest";
import { arbitraryCommand, arbitraryHandlers, arbitraryLook } from "./arbitrary-command.ts";
import type { StoreCommand } from "./model.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { StorePair } from "./store-pair.ts";

/** Rounds of commands; which of them come first is not known, so that no id may be used for a task whose namesake had others below it. */
function roundsOf(command: fc.Arbitrary<StoreCommand>) {
  const commands = fc.array(command, { minLength: 1, maxLength: 6, size: "max" });
  const work = fc.record({
    groups: fc.array(commands, { minLength: 4, maxLength: 12, size: "max" }),
    ahead: fc.integer({ min: 1, max: 6 }),
  });
  const round = fc.record({
    look: arbitraryLook,
    works: fc.tuple(work, work),
    dying: fc.constantFrom(0 as const, 1 as const),
    awaited: fc.nat({ max: 6 }),
    handlers: arbitraryHandlers,
    heir: fc.constantFrom(0 as const, 1 as const),
    page: fc.constantFrom(1, 2, 9),
  });
  return fc.array(round, { minLength: 3, maxLength: 5, size: "max" });
}

const withoutCalls = arbitraryCommand.filter(({ type }) => type !== "call_tool");
const childIds: readonly string[] = ["e", "f"];
const withoutDeletes = arbitraryCommand.filter((command) => {
  if (command.type === "call_tool")
    return childIds.includes(command.child.id) && !childIds.includes(command.id);
  return command.type !== "delete" && command.type !== "delete_expired";
});
const lastLook = { now: 60, after: "", before: null, limit: 4, key: "k1" };
const rounds = fc.oneof(roundsOf(withoutCalls), roundsOf(withoutDeletes));

test(
  "SQLite stores of one file hold what they answered, and no command by half, whichever of their processes is killed",
  { timeout: modelTimeoutMs },
  async () => {
    const property = fc.asyncProperty(rounds, async (each) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-model-"));
      const pair = new StorePair(join(directory, "tasks.db"));
      try {
        await pair.start();
        for (const { works, dying, awaited, look, handlers, heir, page } of each) {
          await pair.work(works, dying, awaited);
          await pair.replace(dying, handlers);
          await pair.assertSame(look);
          await pair.takeOver(heir, page, look.now);
          await pair.assertSame(look);
          await pair.assertHeard();
        }
        await pair.restart();
        await pair.assertSame(lastLook);
      } finally {
        await pair.kill();
        await rm(directory, { recursive: true });
      }
    });
    // Kills come at other moments each time, so that a search for a smaller sequence would lead nowhere.
    await fc.assert(property, { ...modelRuns(4), endOnFailure: true });
  },
);
