import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { claim, handlers, ids, park, reclaimAll, wake } from "./queue-steps.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

const unreadable = ["a", "b", "c", "d", "e", "f", "g"];
const readable = ["h", "i", "j"];
const idOf = (name: string) => `task-${name}`;

test("a row with a lane that there is not is named by claims, which take the others", async () => {
  const before = await files.open();
  for (const name of ["a", "b", "c"]) await before.write(createQueued(name));
  await before.close();
  const db = new DatabaseSync(files.path());
  db.exec("UPDATE task SET lane = 'fast' WHERE id = 'task-b'");
  db.close();
  const store = await files.open();
  await reclaimAll(store);
  const { tasks, unreadable: named } = await claim(store);
  expect(ids(tasks)).toEqual(["task-a", "task-c"]);
  expect(named).toMatchObject([{ id: "task-b", problem: expect.stringContaining("fast") as unknown }]);
});

/** A store of ten tasks, the first seven of which in every order were damaged by another program; `parked`: each sleeps until a second after noon. */
async function storeWithDamagedHead(create: typeof createRunning, parked: boolean) {
  const before = await files.open();
  for (const name of [...unreadable, ...readable]) {
    await before.write(create(name));
    if (parked) await park(before, name, noon + 1_000);
  }
  await before.close();
  const db = new DatabaseSync(files.path());
  db.exec("UPDATE task SET progress = '{', run_after = run_after - 1 WHERE id <= 'task-g'");
  db.close();
  return files.open();
}

describe("a batch of rows that cannot be read, at the head of all others,", () => {
  test("holds up no claim of those behind it, and each is named", async () => {
    const store = await storeWithDamagedHead(createQueued, false);
    await reclaimAll(store);
    const claimOne = { type: "claim", now: noon, handlers } as const;
    expect(await store.hasClaimable(handlers)).toBe(true);
    for (const id of readable.map(idOf)) {
      const { tasks, unreadable: named } = await store.write({ ...claimOne, tokens: [id] });
      expect(ids(tasks)).toEqual([id]);
      expect(ids(named)).toEqual(unreadable.map(idOf));
    }
    expect(await store.hasClaimable(handlers)).toBe(false);
  });

  test("keeps none behind it from being woken, and each is named", async () => {
    const store = await storeWithDamagedHead(createRunning, true);
    for (const id of readable.map(idOf)) {
      const { woken, unreadable: named } = await wake(store, 1);
      expect(woken).toBe(1);
      expect(ids(named)).toEqual(unreadable.map(idOf));
      expect(await store.get(id)).toMatchObject({ lane: "woken" });
    }
    expect(await wake(store)).toMatchObject({ woken: 0 });
  });
});
