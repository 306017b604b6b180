import { expect, it } from "vitest";
import { limitConcurrency } from "../../../src/client/handles/file-handles.ts";
import { memoryHandles } from "../../../src/client/handles/memory-handles.ts";
import { storedCall } from "./calls.ts";

it("asks a store for no more than so many things at once, and for all of them in the end", async () => {
  const memory = memoryHandles();
  let active = 0;
  let most = 0;
  const slow = {
    ...limitConcurrency(memory, Infinity),
    keep: async (call: Parameters<typeof memory.keep>[0]): Promise<boolean> => {
      most = Math.max(most, ++active);
      await new Promise(setImmediate);
      active--;
      if (call.key === "3") throw new Error("no room");
      return memory.keep(call);
    },
  };
  const store = limitConcurrency(slow, 4);
  const keys = Array.from({ length: 50 }, (_, number) => String(number));
  const kept = await Promise.allSettled(keys.map(async (key) => store.keep(storedCall({ key }))));
  expect(most).toBe(4);
  expect(kept.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect((await store.list()).calls).toHaveLength(49);
});
