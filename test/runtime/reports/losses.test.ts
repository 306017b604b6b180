import { expect, it } from "vitest";
import { QueueReads } from "../../../src/runtime/telemetry/observe-runtime.ts";
import type { NodeReports } from "../../../src/store/admin-store.ts";
import { memoryDatabase, type MemoryDatabase } from "../../../src/store/sqlite/memory-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { CrashableStore } from "../../../src/testing/crashable-store.ts";
import { Process, type Handler } from "../harness.ts";

const never: Handler = () => new Promise(() => undefined);
const setup = {
  tools: { never: { config: { onCrash: "resume" as const }, handler: never } },
  options: { crashBackoffMs: 1, maxCrashBackoffMs: 1 },
  reports: true as const,
};

/** A store of a process that can die, which then reports no more. */
function mortal(database: MemoryDatabase): CrashableStore {
  const inner: TaskStore[] = [];
  const keep = (store: TaskStore): TaskStore => {
    inner.push(store);
    return store;
  };
  const crashable = new CrashableStore(keep, database);
  const { reports } = inner[0] ?? {};
  if (reports === undefined) throw new Error("The store keeps no reports.");
  const alive: NodeReports = {
    write: (...report) => crashable.store.get("").then(() => reports.write(...report)),
    between: (...page) => reports.between(...page),
    owners: (most) => reports.owners(most),
  };
  return Object.assign(crashable, { store: { ...crashable.store, reports: alive } });
}

it("counts processes that die over and over in the store, whoever asks and whoever is left", async () => {
  const database = memoryDatabase();
  let store = mortal(database);
  let living = new Process(setup, undefined, store);
  const { clock } = living;
  await living.runtime.start();
  await living.callId("never");
  for (let crash = 0; crash < 3; crash++) {
    store.crash();
    store = mortal(database);
    living = new Process(setup, clock, store);
    await living.runtime.start();
    // Less than the ten seconds between two reports: the loss is reported at once, since this process dies next.
    await clock.advance(1_500);
  }
  const reads = new QueueReads({ store: store.store, clock });
  expect((await reads.read())?.processes).toEqual({ started: 3, lost: 3, lostAttempts: 3 });
  await clock.advance(14 * 60_000);
  expect((await reads.read())?.processes).toMatchObject({ lost: 3 });
  await clock.advance(2 * 60_000);
  expect((await reads.read())?.processes).toEqual({ started: 0, lost: 0, lostAttempts: 0 });
});
