import { expect, it } from "vitest";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { Process, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

it("refuses to extend a task whose process is gone until another one has taken it over, alone and among many", async () => {
  const never: Handler = () => new Promise(() => undefined);
  const setup = { tools: { never: { config: { onCrash: "resume" as const }, handler: never } } };
  const database = memoryDatabase();
  const store = new CrashableStore(undefined, database);
  const first = new Process(setup, undefined, store);
  const second = new Process(setup, first.clock, new CrashableStore(undefined, database));
  await first.runtime.start();
  await second.runtime.start();
  const id = await first.callId("never");
  store.crash();
  const ann = adminOf(second).as("ann");
  const gone = { code: "store_failed", message: expect.stringContaining("is gone. Try again") as string };
  await expect(ann.extend(id, null)).rejects.toMatchObject(gone);
  expect(await ann.bulk("extend", {}, { until: null })).toMatchObject({
    done: [],
    refused: [{ id, ...gone }],
  });
  await first.clock.advance(1_000);
  expect(await ann.extend(id, null)).toMatchObject({ id, expiresAt: null });
});
