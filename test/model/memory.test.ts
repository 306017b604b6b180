import * as fc from "fast-check";
import { expect, test } from "vitest";
import { memoryDatabase } from "../../src/store/memory/memory-database.ts";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { commandNames } from "./arbitrary-command.ts";
import { follow, type Place } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { arbitraryMoves } from "./moves.ts";
import { StoreSubject } from "./store-subject.ts";

function place(): Place {
  const database = memoryDatabase();
  return {
    open: (id, handlers) => StoreSubject.open(memoryStore(database), id, handlers),
    kill: async (id) => database.kill(id),
    outlivesKill: false,
  };
}

test("memory stores of one database do what the model does", { timeout: modelTimeoutMs }, async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(arbitraryMoves(60), (moves) =>
    follow(place(), moves, (type, answer) => {
      if ("rejected" in answer) seen.add(answer.rejected);
      else seen.add("ok" in answer && !answer.ok ? answer.reason : `${type}: done`);
    }),
  );
  await fc.assert(property, modelRuns(400));
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
    "awaited",
    "quota",
    "full",
    "store_lost",
  ];
  const done = [...commandNames, "put_message", "take_messages"].map((name) => `${name}: done`);
  expect([...seen].sort()).toEqual([...done, ...refusals].sort());
});
