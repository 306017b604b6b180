import { expect, test } from "vitest";
import type { Database } from "../../../src/store/postgres/database.ts";
import type { Names } from "../../../src/store/postgres/names.ts";
import { PostgresSessions } from "../../../src/store/postgres/postgres-sessions.ts";
import type { SessionNews, StoredSession } from "../../../src/store/session-store.ts";
import { noon } from "../../contract/sample-task.ts";
import { someSchema, type SomeSchema } from "./some-database.ts";

const room = { ofPrincipal: 100, total: 100 };

function session(id: string, more: Partial<StoredSession> = {}): StoredSession {
  return { id, principal: "ann", expiresAt: noon, state: `{"of":"${id}"}`, ...more };
}

interface Owner {
  readonly database: Database;
  readonly sessions: PostgresSessions;
  readonly heard: (SessionNews | "gap")[];
}

/** Owners of one schema, which are told at once to read, and only of what the others tell. */
async function owners(schema: SomeSchema, count: number): Promise<readonly Owner[]> {
  const all: Owner[] = [];
  for (let index = 0; index < count; index++) {
    const database = schema.connect();
    const owner = `owner-${index}`;
    const channel = {
      send: () => {
        for (const other of all) if (other.sessions !== sessions) void other.sessions.readNews();
      },
    };
    const parts = { database, owners: await schema.owner(owner, database), owner, channel };
    const sessions = new PostgresSessions(schema.names, () => parts);
    await sessions.start(database, owner);
    const heard: (SessionNews | "gap")[] = [];
    sessions.subscribe((news) => heard.push(...(news === "gap" ? [news] : news)));
    all.push({ database, sessions, heard });
  }
  return all;
}

async function two(): Promise<readonly [SomeSchema, Owner, Owner]> {
  const schema = await someSchema();
  const [here, there] = await owners(schema, 2);
  if (here === undefined || there === undefined) throw new Error("There are not two.");
  return [schema, here, there];
}

async function countOf(database: Database, names: Names, principal: string): Promise<number> {
  const [[count] = []] = await database.query(`SELECT count(*) FROM ${names.session} WHERE principal = $1`, [
    principal,
  ]);
  return Number(count);
}

test("others hear of a change, of what is told and of an end in the order in which they came, and whoever did it once", async () => {
  const [, here, there] = await two();
  await here.sessions.put(session("a"), room);
  const messages = Array.from({ length: 50 }, (_, index) => `hello ${index} \ud800\u0000é`);
  expect(await there.sessions.update("a", "{}", session("a").state)).toBe(true);
  for (const message of messages) await there.sessions.send("a", message);
  await there.sessions.delete(["a", "gone"]);
  const news = [null, ...messages, null].map((message) => ({ id: "a", message }));
  await expect.poll(() => here.heard).toEqual(news);
  await there.sessions.readNews();
  expect(there.heard).toEqual(news);
  expect(await here.sessions.get("a")).toBeUndefined();
});

test("many who tell at once are all heard once", async () => {
  const schema = await someSchema();
  const all = await owners(schema, 3);
  const told = await Promise.all(
    all.map(async ({ sessions }, owner) => {
      const ids = Array.from({ length: 40 }, (_, index) => `${owner}-${index}`);
      await Promise.all(ids.map((id) => sessions.send(id, "hello")));
      return ids;
    }),
  );
  await Promise.all(all.map(({ sessions }) => sessions.readNews()));
  for (const { heard } of all) {
    const ids = heard.map((news) => (news === "gap" ? news : news.id));
    expect(ids.toSorted()).toEqual(told.flat().toSorted());
  }
});

test("what is committed late is heard although later news was read before", async () => {
  const [schema, here, there] = await two();
  const { names } = schema;
  const slow = await schema.connect().begin();
  await slow.query(`INSERT INTO ${names.sessionNews} (owner, session, message) VALUES ('slow', 'a', 'late')`);
  await there.sessions.send("b", "soon");
  await expect.poll(() => here.heard).toEqual([{ id: "b", message: "soon" }]);
  await slow.commit();
  await here.sessions.readNews();
  expect(here.heard.slice(1)).toEqual([{ id: "a", message: "late" }]);
});

test("what was on its way when a process began is heard", async () => {
  const schema = await someSchema();
  const slow = await schema.connect().begin();
  await slow.query(`INSERT INTO ${schema.names.sessionNews} (owner, session) VALUES ('slow', 'a')`);
  const [there] = await owners(schema, 1);
  await there?.sessions.send("b", "before");
  const [here] = await owners(schema, 1);
  await slow.commit();
  await here?.sessions.readNews();
  expect(here?.heard).toEqual([{ id: "a", message: null }]);
});

test("whoever finds the database as it was before reads all again, and hears what comes then", async () => {
  const [{ names }, here, there] = await two();
  for (const message of ["1", "2", "3"]) await there.sessions.send("a", message);
  await expect.poll(() => here.heard).toHaveLength(3);
  await there.database.query(`DELETE FROM ${names.sessionNews} WHERE seq > 1`);
  await there.database.query(`ALTER TABLE ${names.sessionNews} ALTER COLUMN seq RESTART WITH 2`);
  await there.sessions.send("a", "instead of 2");
  await expect.poll(() => here.heard.slice(3)).toEqual(["gap"]);
  await there.sessions.send("a", "then");
  await expect.poll(() => here.heard.slice(4)).toEqual([{ id: "a", message: "then" }]);
});

test("old news are deleted", async () => {
  const [schema, here] = await two();
  const { names } = schema;
  const database = schema.connect();
  await database.query(`
    INSERT INTO ${names.sessionNews} (owner, session, message, at)
    SELECT 'other', 'a', 'old', clock_timestamp() - each * interval '1 minute' FROM generate_series(0, 2500) AS each`);
  await here.sessions.readNews();
  const [[left] = []] = await database.query(`SELECT count(*) FROM ${names.sessionNews}`);
  expect(left).toBe(1);
});

test("processes that put at once keep to the room exactly, and those that make it are told of", async () => {
  const schema = await someSchema();
  const all = await owners(schema, 3);
  const few = { ofPrincipal: 5, total: 12 };
  const names = ["ann", "bob", "carl"];
  await Promise.all(
    all.map(({ sessions }, owner) =>
      Promise.all(
        Array.from({ length: 30 }, (_, index) => {
          const principal = names[index % 3] ?? null;
          return sessions.put(session(`${owner}-${index}`, { principal, expiresAt: noon + index }), few);
        }),
      ),
    ),
  );
  const [first] = all;
  if (first === undefined) return;
  const { database, sessions, heard } = first;
  const counts = await Promise.all(names.map((name) => countOf(database, schema.names, name)));
  expect(counts.reduce((sum, count) => sum + count)).toBe(few.total);
  expect(Math.max(...counts)).toBeLessThanOrEqual(few.ofPrincipal);
  await sessions.readNews();
  expect(new Set(heard.map((news) => (news === "gap" ? news : news.id))).size).toBe(90 - 12);
});

test("processes that change the same sessions at once do not hold each other up", async () => {
  const schema = await someSchema();
  const all = await owners(schema, 3);
  const ids = Array.from({ length: 50 }, (_, index) => `s${index}`);
  for (const id of ids) await all[0]?.sessions.put(session(id), room);
  const ends = ids.map((id, index) => ({ id, expiresAt: noon + index }));
  await Promise.all(
    all.flatMap(({ sessions }) => [
      sessions.extend(ends),
      sessions.extend(ends.toReversed()),
      sessions.deleteUnextended(ends.slice(0, 20).toReversed()),
      sessions.delete(ids.slice(20, 30)),
      sessions.put(session("new"), { ofPrincipal: 45, total: 40 }),
    ]),
  );
  for (const id of ids.slice(0, 30)) expect(await all[0]?.sessions.get(id)).toBeUndefined();
});

test("one of several updates of the same state is made", async () => {
  const schema = await someSchema();
  const all = await owners(schema, 3);
  await all[0]?.sessions.put(session("a"), room);
  const made = await Promise.all(
    all.map(({ sessions }, owner) => sessions.update("a", `{"by":${owner}}`, session("a").state)),
  );
  expect(made.filter(Boolean)).toHaveLength(1);
  expect((await all[0]?.sessions.get("a"))?.state).toBe(`{"by":${made.indexOf(true)}}`);
});

test("a session whose row is damaged is a fault of the store", async () => {
  const [{ names }, here] = await two();
  await here.sessions.put(session("a"), room);
  await here.database.query(`UPDATE ${names.session} SET state = $1`, ['\ufffe"cut']);
  await expect(here.sessions.get("a")).rejects.toMatchObject({ code: "store_failed" });
});
