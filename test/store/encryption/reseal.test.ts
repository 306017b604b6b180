import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { rotateSecrets } from "../../../src/admin/rotate-secrets.ts";
import { Cipher } from "../../../src/store/cipher.ts";
import { dumpStore, keyUsageOfStore, resealStore } from "../../../src/store/data-care.ts";
import { openedStore } from "../../../src/store/encrypted-store.ts";
import { readKeys, type EncryptionKey } from "../../../src/store/encryption-keys.ts";
import { exportJournal } from "../../../src/store/export-journal.ts";
import { storeFromUrl, placeOfStore } from "../../../src/store/from-url.ts";
import { createRunning, noon } from "../../../src/testing/sample-task.ts";
import { kinds, placeApart, type Place } from "../../cli/admin/some-place.ts";
import { change } from "../../cli/admin/change-rows.ts";
import { mark, markedLife } from "./marked-life.ts";

const k1 = { id: "k1", key: Buffer.alloc(32, 1) };
const k2 = { id: "k2", key: Buffer.alloc(32, 2) };

let owners = 0;
async function opened(place: Place, ...keys: readonly EncryptionKey[]): Promise<TaskStore> {
  const inner = storeFromUrl(place.url);
  const store = keys.length === 0 ? inner : encryptedStore(inner, { keys });
  await store.open({ id: `owner-${++owners}`, handlers: [] });
  onTestFinished(() => store.close());
  return store;
}

const reseal = (place: Place, ...keys: readonly EncryptionKey[]) =>
  resealStore(
    placeOfStore(place.url, (path) => path),
    { keys: readKeys(keys), pause: async () => undefined },
  );

/** All that a dump has of the live rows; in SQLite also the file and its log. */
async function contentsOf(place: Place, kind: string): Promise<string> {
  const at = placeOfStore(place.url, (path) => path);
  const file = join(place.cwd, `${++owners}.dump`);
  await dumpStore(at, file, { now: noon, since: undefined, signal: new AbortController().signal });
  const parts = [gunzipSync(await readFile(file))];
  if (kind === "SQLite" && at.kind === "sqlite")
    for (const name of [at.path, `${at.path}-wal`])
      parts.push(await readFile(name).catch(() => Buffer.alloc(0)));
  return Buffer.concat(parts).toString("latin1");
}

describe.each(kinds)("on %s", (kind) => {
  test(
    "a store in clear opens with keys only after reseal, which leaves nothing in clear",
    { timeout: 120_000 },
    async () => {
      const place = await placeApart(kind);
      const id = await markedLife(storeFromUrl(place.url), async () => undefined);
      expect(await contentsOf(place, kind)).toContain(mark);
      const refused = { code: "store_unusable", message: expect.stringContaining("reseal") as string };
      await expect(opened(place, k1)).rejects.toMatchObject(refused);
      const done = await reseal(place, k1);
      expect(done).toMatchObject({ left: {}, isStrict: true, isClean: true });
      expect(Object.keys(done.rows)).toEqual(
        expect.arrayContaining([
          "task",
          "request",
          "journal",
          "outcome",
          "line",
          "event",
          "session",
          "message",
        ]),
      );
      expect(await contentsOf(place, kind)).not.toContain(mark);
      const store = await opened(place, k1);
      expect(JSON.stringify(await exportJournal(store, id))).toContain(mark);
      expect(await reseal(place, k1)).toMatchObject({ rows: {}, isStrict: true });
      // It is strict from now on.
      await change(place, "UPDATE task SET proof = NULL");
      await expect(store.get(id)).rejects.toMatchObject({ code: "task_unreadable" });
    },
  );

  test(
    "after it and a rotation of secrets the old key opens nothing, and the new one all",
    { timeout: 120_000 },
    async () => {
      const place = await placeApart(kind);
      const id = await markedLife(
        encryptedStore(storeFromUrl(place.url), { keys: [k1] }),
        async () => undefined,
      );
      const running = await opened(place, k2, k1);
      const before = JSON.stringify(await exportJournal(running, id));
      expect(await contentsOf(place, kind)).toContain("enc2:k1:");
      const at = placeOfStore(place.url, (path) => path);
      const old = await keyUsageOfStore(at, readKeys([k1]));
      expect(old).toMatchObject({
        keys: { k1: { request: expect.any(Number) as number } },
        clear: {},
        unopened: {},
      });
      const lost = await keyUsageOfStore(at, readKeys([{ ...k1, key: Buffer.alloc(32, 9) }]));
      expect([lost.keys["k1"]?.["line"], lost.unopened["line"]]).toEqual([
        old.keys["k1"]?.["line"],
        old.keys["k1"]?.["line"],
      ]);
      const services = { store: running, now: () => Date.now(), pause: async () => undefined };
      await rotateSecrets(services, 0);
      expect(await reseal(place, k2, k1)).toMatchObject({ left: {}, isStrict: true, isClean: true });
      expect(await contentsOf(place, kind)).not.toContain("enc2:k1:");
      const now = await keyUsageOfStore(at, readKeys([k2]));
      expect([Object.keys(now.keys), now.clear, now.unopened]).toEqual([["k2"], {}, {}]);
      const store = await opened(place, k2);
      expect(JSON.stringify(await exportJournal(store, id))).toBe(before);
      expect((await store.sessions?.get("session"))?.state).toContain(mark);
      expect(await store.messages?.take("task-a", null)).toEqual([mark]);
    },
  );

  test("what servers write meanwhile counts, and one without keys stops", async () => {
    const place = await placeApart(kind);
    const plain = await opened(place);
    await plain.write(createRunning("a"));
    const keys = readKeys([k1]);
    const at = placeOfStore(place.url, (path) => path);
    let server: TaskStore | undefined;
    const done = await resealStore(at, {
      keys,
      pause: async () => {
        await plain.write(createRunning("late")); // before it notices
        expect(await plain.renew()).toMatchObject({ held: false, lost: { code: "store_lost" } });
        server = await opened(place, k1);
        expect(await server.get("task-late")).toMatchObject({ id: "task-late" });
        const changes = { statusMessage: "half" };
        await server.write({ type: "update", now: noon, id: "task-a", token: "t1", changes });
      },
    });
    expect(done).toMatchObject({ left: {}, isStrict: true });
    expect(await server?.get("task-a")).toMatchObject({ statusMessage: "half" });
    await server?.renew();
    await change(place, "UPDATE task SET proof = NULL WHERE id = 'task-a'");
    await expect(server?.get("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
  });

  test("what changed since a dump is not enough once everything was sealed anew", async () => {
    const place = await placeApart(kind);
    const plain = await opened(place);
    await plain.write(createRunning("a"));
    await plain.close();
    const at = placeOfStore(place.url, (path) => path);
    let last: string | undefined;
    const dump = async (since?: string): Promise<void> => {
      const file = join(place.cwd, `${++owners}.dump`);
      await dumpStore(at, file, { now: noon, since, signal: new AbortController().signal });
      last = file;
    };
    const sealings: readonly (readonly EncryptionKey[])[] = [[k1], [k2, k1]];
    for (const keys of sealings) {
      await dump();
      await dump(last);
      await reseal(place, ...keys);
      await expect(dump(last)).rejects.toMatchObject({ code: "configuration" });
      await dump();
      expect(await reseal(place, ...keys)).toMatchObject({ rows: {} });
      await dump(last);
    }
  });

  test("an operator without keys who has the store open meanwhile leaves no words in clear", async () => {
    const place = await placeApart(kind);
    const plain = await opened(place);
    await plain.write(createRunning("a"));
    await plain.close();
    const operator = openedStore(storeFromUrl(place.url), undefined);
    onTestFinished(() => operator.close());
    const done = await resealStore(
      placeOfStore(place.url, (path) => path),
      {
        keys: readKeys([k1]),
        pause: () => operator.open({ id: `owner-${++owners}`, handlers: [] }),
      },
    );
    expect(done).toMatchObject({ left: {}, isStrict: true });
    await operator.renew();
    const changes = { statusMessage: "in clear" };
    await operator.write({ type: "update", now: noon, id: "task-a", token: "t1", changes });
    expect(await (await opened(place, k1)).get("task-a")).toMatchObject({ id: "task-a" });
  });

  test("it goes on where it was stopped, and says what it cannot open", async () => {
    const place = await placeApart(kind);
    const plain = await opened(place);
    for (const name of ["a", "b"])
      await plain.write(createRunning(name, { statusMessage: "enc2:k1:" + "A".repeat(60) }));
    await plain.close();
    const at = placeOfStore(place.url, (path) => path);
    const stopped = { keys: readKeys([k1]), pause: () => Promise.reject(new Error("stopped")) };
    await expect(resealStore(at, stopped)).rejects.toThrow();
    expect(await reseal(place, k1)).toMatchObject({
      rows: { task: 2, request: 2 },
      left: {},
      isStrict: true,
    });
    const store = await opened(place, k1);
    expect((await store.get("task-a"))?.statusMessage).toMatch(/^enc2:k1:AAA/);
    await change(place, "UPDATE request SET arguments = 'forged' WHERE task_id = 'task-a'");
    expect(await reseal(place, k2, k1)).toMatchObject({ left: { request: 1 }, isStrict: true });
    await expect(reseal(place, { id: "k9", key: Buffer.alloc(32, 9) })).rejects.toMatchObject({
      code: "configuration",
    });
  });
});

test("a secret that somebody made up does not let texts in clear be read", async () => {
  const place = await placeApart("SQLite");
  await (await opened(place, k1)).write(createRunning("a"));
  using db = new DatabaseSync(place.url.slice("sqlite:".length), { timeout: 20_000 });
  const id = String(db.prepare("SELECT value FROM secret WHERE name = 'holdfast/store'").get()?.["value"]);
  const other = new Cipher({ keys: [{ id: "k1", key: k2.key }], store: id, isStrict: true });
  const made = other.seal("", { table: "secret", column: "value", of: "holdfast/unsealed" });
  db.prepare("INSERT INTO secret (name, value) VALUES ('holdfast/unsealed', ?)").run(made);
  db.exec("UPDATE task SET proof = NULL");
  await expect((await opened(place, k1)).get("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
});
