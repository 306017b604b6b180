import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "holdfast/sqlite";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { noon } from "../../../src/testing/sample-task.ts";
import { folder } from "../../cli/run-cli.ts";

const [k1, k2] = [1, 2].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n) }));
type Key = NonNullable<typeof k1>;

async function place() {
  const path = join(await folder(), "tasks.db");
  let owners = 0;
  const opened = async (...keys: readonly (Key | undefined)[]): Promise<TaskStore> => {
    const store = encryptedStore(sqliteStore(path), { keys: keys.filter((key) => key !== undefined) });
    await store.open({ id: `owner-${++owners}`, handlers: [] });
    onTestFinished(() => store.close());
    return store;
  };
  const rows = (): readonly string[] => {
    using db = new DatabaseSync(path, { timeout: 20_000 });
    const all = db.prepare("SELECT name, value FROM secret WHERE name LIKE 'one%' ORDER BY name").all();
    return all.map(({ name, value }) => `${String(name)} ${String(value).slice(0, 8)}`);
  };
  return { opened, rows };
}

const keep = async (store: TaskStore, value: string | null = null) =>
  (await store.write<"keep_secret">({ type: "keep_secret", now: noon, name: "one", value })).value;
const replace = async (store: TaskStore, before: string, value: string | null) =>
  (await store.write<"replace_secret">({ type: "replace_secret", now: noon, name: "one", before, value }))
    .replaced;

test("a secret that is replaced is stored once, with the first key, and nothing of it with former keys", async () => {
  const { opened, rows } = await place();
  const first = await opened(k1);
  expect(await keep(first, "old")).toBe("old");
  const both = await opened(k2, k1);
  expect(await keep(both)).toBe("old");
  expect(rows()).toEqual(["one enc2:k1:", "one@k2 enc2:k2:"]);
  expect(await replace(both, "other", "new")).toBe(false);
  expect(await replace(both, "old", "new")).toBe(true);
  expect(rows()).toEqual(["one enc2:k2:"]);
  expect(await keep(await opened(k2))).toBe("new");
  // A process that is to get its new first key has both.
  expect(await keep(await opened(k1, k2))).toBe("new");
});

test("of two that replace it at once, one does", async () => {
  const { opened } = await place();
  const stores = [await opened(k1), await opened(k1)] as const;
  await keep(stores[0], "old");
  const done = await Promise.all(stores.map((store, index) => replace(store, "old", `by ${index}`)));
  expect(done.filter(Boolean)).toHaveLength(1);
  expect(await keep(stores[0])).toBe(await keep(stores[1]));
});

test("a renewal says that the secrets have changed, once", async () => {
  const { opened } = await place();
  const [one, two] = [await opened(k1), await opened(k1)];
  await keep(one, "old");
  for (const store of [one, two]) await store.renew();
  expect(await two.renew()).not.toHaveProperty("secretsChanged");
  await replace(one, "old", "new");
  expect(await two.renew()).toMatchObject({ secretsChanged: true });
  expect(await two.renew()).not.toHaveProperty("secretsChanged");
});

test("the first renewal says that the secrets have changed since the store was opened", async () => {
  const { opened } = await place();
  const one = await opened(k1);
  await keep(one, "old");
  const two = await opened(k1);
  expect(await keep(two)).toBe("old");
  await replace(one, "old", "new");
  expect(await two.renew()).toMatchObject({ secretsChanged: true });
  expect(await two.renew()).not.toHaveProperty("secretsChanged");
});
