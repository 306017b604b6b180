import { expect, it } from "vitest";
import { createAdmin } from "../../src/admin/create-admin.ts";
import type { AdminStore } from "../../src/store/admin-store.ts";
import { Process, text } from "../runtime/harness.ts";

it("lists each task once that ends while its page is read", async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const tools = {
    slow: async () => {
      await end;
      return text("ok");
    },
  };
  const process = await Process.started({ tools, options: { concurrency: 200 } });
  const ids: string[] = [];
  for (let n = 0; n < 120; n++) {
    ids.push(await process.callId("slow"));
    process.clock.jump(1);
  }
  const { store, clock } = process;
  if (store.admin === undefined) throw new TypeError("The store has no part for operators.");
  const inner = store.admin;
  let reads = 0;
  const admin: AdminStore = {
    ...inner,
    async tasks(range, before, limit) {
      // All of them end once the first page of what is unfinished has been read.
      if (range.of === "open" && ++reads === 2) {
        resolve();
        for (const id of ids) await process.ended(id);
      }
      return inner.tasks(range, before, limit);
    },
  };
  const operated = createAdmin({
    store: { ...store, admin },
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: 1_000_000,
  });
  const { tasks } = await operated.list({ tool: "slow", limit: 1_000 });
  expect(tasks.map(({ id }) => id)).toEqual(ids.toReversed());
});
