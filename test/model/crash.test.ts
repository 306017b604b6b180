import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "vitest";
import { arbitraryCommand, arbitraryHandlers, arbitraryLook } from "./arbitrary-command.ts";
import type { StoreCommand } from "./model.ts";
import { looksForTasks } from "./model-groups.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { placeInFile, placeInPostgres } from "../places/place.ts";
import { StorePair } from "./store-pair.ts";
import { isAboutMessages } from "./store-subject.ts";

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

type Rounds = typeof rounds extends fc.Arbitrary<infer R> ? R : never;

/** For stores where commands of others come between those that are asked for at once, and messages come in an order of their own. */
function oneByOne(each: Rounds): Rounds {
  const isInOrder = (command: StoreCommand): boolean => !looksForTasks(command) && !isAboutMessages(command);
  return each.map((round) => {
    const [one, other] = round.works.map(({ groups, ahead }) => ({
      groups: groups.flatMap((group) => group.filter(isInOrder).map((command) => [command])),
      ahead,
    }));
    return one === undefined || other === undefined ? round : { ...round, works: [one, other] };
  });
}

const places = [
  ["SQLite stores of one file", async (folder: string) => placeInFile(join(folder, "tasks.db")), rounds],
  ["Postgres stores of one database", placeInPostgres, rounds.map(oneByOne)],
] as const;

test.each(places)(
  "%s hold what they answered, and no command by half, whichever of their processes is killed",
  { timeout: modelTimeoutMs },
  async (_, placeIn, ofPlace) => {
    const property = fc.asyncProperty(ofPlace, async (each) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-model-"));
      const place = await placeIn(directory);
      const pair = new StorePair(place);
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
        await place.remove();
        await rm(directory, { recursive: true });
      }
    });
    // Kills come at other moments each time, so that a search for a smaller sequence would lead nowhere.
    await fc.assert(property, { ...modelRuns(4), endOnFailure: true });
  },
);
