import * as fc from "fast-check";
import { expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { commandNames } from "./arbitrary-command.ts";
import { arbitraryMoves, follow } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { storeSubject } from "./store-subject.ts";

test("the memory store does what the model does", { timeout: modelTimeoutMs }, async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(arbitraryMoves(60, false), async (moves) => {
    const subject = await storeSubject(memoryStore);
    try {
      await follow(subject, moves, ({ type }, result) => {
        seen.add(result.ok ? `${type}: done` : result.reason);
      });
    } finally {
      await subject.close();
    }
  });
  await fc.assert(property, modelRuns(1500));
  // Sequences that never get anywhere would prove nothing.
  const refusals = [
    "unknown",
    "finished",
    "fenced",
    "state",
    "duplicate",
    "conflict",
    "taken",
    "not_due",
    "quota",
  ];
  expect([...seen].sort()).toEqual([...commandNames.map((name) => `${name}: done`), ...refusals].sort());
});
