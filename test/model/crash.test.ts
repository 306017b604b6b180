import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { test } from "vitest";
import type { CommandResult, TaskCommand } from "../../src/task/command.ts";
import { arbitraryCommand, arbitraryLook } from "./arbitrary-command.ts";
import { liveAndDie } from "./killed-store.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { apply, emptyModel, type Model } from "./model.ts";
import { viewOfModel } from "./view.ts";

const commands = fc.array(arbitraryCommand, { minLength: 1, maxLength: 6, size: "max" });
const life = fc.record({
  look: arbitraryLook,
  groups: fc.array(commands, { minLength: 4, maxLength: 12, size: "max" }),
  ahead: fc.integer({ min: 1, max: 6 }),
  awaited: fc.nat({ max: 6 }),
});
const lastLife = {
  look: { now: 60, after: "", before: null, limit: 4, key: "k1" },
  groups: [],
  ahead: 0,
  awaited: 0,
};
const lives = fc.array(life, { minLength: 3, maxLength: 5, size: "max" });

/**
 * What the store may hold after a crash: all that was answered, and of what was not, what was asked for up to some
 * command. Nothing where the answers are not the model's.
 */
function afterCrash(
  before: Model,
  groups: readonly (readonly TaskCommand[])[],
  answers: readonly (readonly CommandResult[])[],
): Model[] {
  let model = before;
  const results = (group: readonly TaskCommand[]): CommandResult[] =>
    group.map((command) => {
      const step = apply(model, command);
      model = step.model;
      return step.result;
    });
  for (const [index, answer] of answers.entries()) {
    if (!isDeepStrictEqual(results(groups[index] ?? []), answer)) return [];
  }
  const possible = [model];
  for (const command of groups.slice(answers.length).flat()) {
    results([command]);
    possible.push(model);
  }
  return possible;
}

/** Commands that change nothing make the same model again. */
function distinct(models: readonly Model[]): readonly Model[] {
  return models.filter(
    (model, index) => models.findIndex((other) => isDeepStrictEqual(model, other)) === index,
  );
}

test(
  "a killed SQLite store holds what it answered, and no command by half",
  { timeout: modelTimeoutMs },
  async () => {
    const property = fc.asyncProperty(lives, async (each) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-model-"));
      const path = join(directory, "tasks.db");
      try {
        let possible = [emptyModel];
        for (const { look, ...work } of [...each, lastLife]) {
          const { found, answers } = await liveAndDie(path, look, work);
          const matching = possible.filter((model) => isDeepStrictEqual(viewOfModel(model, look), found));
          // Where nothing matches, the difference to the last acknowledged state says most.
          if (matching.length === 0) assert.deepEqual(found, viewOfModel(possible[0] ?? emptyModel, look));
          possible = distinct(matching).flatMap((model) => afterCrash(model, work.groups, answers));
          assert.notEqual(
            possible.length,
            0,
            `these answers are not the model's: ${JSON.stringify(answers)}`,
          );
        }
      } finally {
        await rm(directory, { recursive: true });
      }
    });
    // Kills come at other moments each time, so that a search for a smaller sequence would lead nowhere.
    await fc.assert(property, { ...modelRuns(4), endOnFailure: true });
  },
);
