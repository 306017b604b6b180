import { expect, test } from "vitest";
import { PostgresMessages } from "../../../src/store/postgres/postgres-messages.ts";
import { someSchema, type SomeSchema } from "./some-database.ts";
import { bareTasks } from "./bare-tasks.ts";

const ok = { ok: true };
const full = { ok: false, reason: "full" };
const unknown = { ok: false, reason: "unknown" };

function message(body: string, bound = false): { body: string; bound: boolean } {
  return { body, bound };
}

/** The queues of a schema with the tasks a and b, for two processes. */
async function queues(schema: SomeSchema): Promise<readonly [PostgresMessages, PostgresMessages]> {
  const database = schema.connect();
  await database.query(bareTasks(schema.names.task, { id: "id" }, "FROM unnest(ARRAY['a', 'b']) AS id"));
  const other = schema.connect();
  const one = { database, owners: await schema.owner("one", database), owner: "one" };
  const two = { database: other, owners: await schema.owner("two", other), owner: "two" };
  return [new PostgresMessages(schema.names, () => one), new PostgresMessages(schema.names, () => two)];
}

test("messages that one process puts at once come out in this order, to the letter, up to the size of their queue", async () => {
  const [here] = await queues(await someSchema());
  const bodies = ["1", '{ "a":1.0 }', '"\ud800"', "\0", "\ufffe"];
  const puts = [...bodies, "6"].map((body) => here.put("a", message(body), 5));
  expect(await Promise.all(puts)).toEqual([...bodies.map(() => ok), full]);
  expect(await here.put("c", message("x"), null)).toEqual(unknown);
  expect(await here.take("c", null)).toEqual([]);
  expect(await here.take("a", 0)).toEqual([]);
  const takes = await Promise.all(bodies.map(() => here.take("a", 1)));
  expect(takes.flat()).toEqual(bodies);
});

test("processes that put at once keep to the size of a queue, and each message has one taker", async () => {
  const all = await queues(await someSchema());
  const puts = all.flatMap((each, owner) =>
    Array.from({ length: 30 }, (_, index) => each.put("a", message(`${owner}-${index}`), 50)),
  );
  const made = await Promise.all(puts);
  expect(made.filter((each) => each.ok)).toHaveLength(50);
  const takes = await Promise.all(all.flatMap((each) => [each.take("a", 7), each.take("a", null)]));
  const taken = takes.flat();
  expect(taken).toHaveLength(50);
  expect(new Set(taken).size).toBe(50);
});

test("what is bound to a process fills the queue for all, and is taken by no other", async () => {
  const [here, there] = await queues(await someSchema());
  for (const bound of [true, false, true]) await there.put("a", message(String(bound), bound), null);
  expect(await here.put("a", message("4"), 3)).toEqual(full);
  expect(await here.take("a", null)).toEqual(["false"]);
  expect(await there.take("a", null)).toEqual(["true", "true"]);
});

test("no message outlives a task that is deleted at the same time", async () => {
  const schema = await someSchema();
  const [here] = await queues(schema);
  const { names } = schema;
  const deletion = await schema.connect().begin();
  await deletion.query(`SELECT 1 FROM ${names.task} WHERE id = 'a' FOR UPDATE`);
  const put = here.put("a", message("1"), null);
  await deletion.query(`DELETE FROM ${names.message} WHERE task_id = 'a'`);
  await deletion.query(`DELETE FROM ${names.task} WHERE id = 'a'`);
  await deletion.commit();
  expect(await put).toEqual(unknown);
});

test("a message that is damaged is a fault of its task, and stays", async () => {
  const schema = await someSchema();
  const [here] = await queues(schema);
  await here.put("a", message("1"), null);
  await here.put("b", message("2"), null);
  const database = schema.connect();
  await database.query(`UPDATE ${schema.names.message} SET body = $1 WHERE task_id = 'a'`, ['\ufffe"cut']);
  for (let times = 0; times < 2; times++) {
    await expect(here.take("a", null)).rejects.toMatchObject({ code: "task_unreadable" });
  }
  expect(await here.take("b", null)).toEqual(["2"]);
});
