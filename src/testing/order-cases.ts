import { assertMembers } from "./assert-members.ts";
import { createQueued, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const id = "task-a";

export const orderCases = storeCases("order", {
  "writes that are made at once take effect one after the other, as they were called": async ({ store }) => {
    const results = await Promise.all([
      store.write(createQueued("a")),
      store.write({ type: "start", now: noon, id, token: "t1" }),
      store.write({ type: "start", now: noon, id, token: "t2" }),
      store.write({ type: "cancel", now: noon, id }),
    ]);
    assertMembers(results, [
      { ok: true, task: { version: 1 } },
      { ok: true, task: { version: 2, token: "t1" } },
      { ok: false, reason: "state" },
      { ok: true, task: { version: 3, state: "cancelled" } },
    ]);
  },

  "a read that is asked after an acknowledgement shows the change, however many write": async ({ store }) => {
    const readBack = async (name: string): Promise<void> => {
      await store.write(createQueued(name));
      for (let attempt = 1; attempt <= 10; attempt++) {
        const token = `t${attempt}`;
        await store.write({ type: "start", now: noon, id: `task-${name}`, token });
        assertMembers(await store.snapshot(`task-${name}`), { task: { state: "running", attempt, token } });
        await store.write({ type: "release", now: noon, id: `task-${name}`, token });
        assertMembers(await store.get(`task-${name}`), { state: "queued", attempt });
      }
    };
    await Promise.all(["a", "b", "c", "d", "e"].map(readBack));
  },
});
