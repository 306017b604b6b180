import { expect, it } from "vitest";
import { createAdmin } from "../../src/admin/create-admin.ts";
import { Process, text } from "../runtime/harness.ts";
import { storeFailed, watchedStore } from "../runtime/watched-store.ts";

it("rejects where the store fails, and lists no task as refused for that", async () => {
  const process = await Process.started({ tools: { ok: () => text("ok") } });
  for (let n = 0; n < 5; n++) await process.ended(await process.callId("ok"));
  const { store, clock } = process;
  const failing = watchedStore(store, (call) => {
    if (call === "delete" || call === "create") throw storeFailed();
  });
  const admin = createAdmin({
    store: { ...failing, ...(store.admin && { admin: store.admin }) },
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: 1_000_000,
  });
  for (const action of ["delete", "retry"] as const)
    await expect(admin.as("ann").bulk(action, { tool: "ok" })).rejects.toMatchObject({
      code: "store_failed",
    });
});
