import { expect, onTestFinished, test } from "vitest";
import { createTasks, type ServerEvent } from "holdfast";
import { postgresStore } from "holdfast/postgres";
import { createQueued } from "../../../src/testing/sample-task.ts";
import { OwnServer } from "../../postgres/own-server.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";
import { someOwner } from "../sqlite/some-owner.ts";

const patience = { timeout: 30_000 };

async function typesHeard(url: string, schema: string, directUrl = url): Promise<ServerEvent["type"][]> {
  const types: ServerEvent["type"][] = [];
  const tasks = createTasks({
    store: postgresStore(url, { schema, directUrl }),
    onEvent: ({ type }) => types.push(type),
    onError: () => undefined,
  });
  await tasks.start();
  onTestFinished(() => tasks.stop());
  return types;
}

const ofListener = (types: readonly string[]): string[] =>
  types.filter((type) => type.startsWith("listener."));

test("a process tells when it is told of changes no more, once, and when it is again", async () => {
  await using database = await OwnServer.start();
  const types = await typesHeard(database.url, "holdfast");
  expect(ofListener(types)).toEqual([]);
  await database.stop("immediate");
  await expect.poll(() => ofListener(types), patience).toEqual(["listener.lost"]);
  await database.start();
  await expect.poll(() => ofListener(types), patience).toEqual(["listener.lost", "listener.regained"]);
}, 60_000);

test("a process that cannot listen from the start tells so", async () => {
  const { url, schema } = await FreshSchema.inSharedDatabase();
  const elsewhere = new URL(url);
  elsewhere.port = "1";
  expect(ofListener(await typesHeard(url, schema, elsewhere.href))).toEqual(["listener.lost"]);
});

test("a process whose lease is over, and who may go on, is still told of changes", async () => {
  const { url, schema } = await FreshSchema.inSharedDatabase();
  const [one, other] = [postgresStore(url, { schema }), postgresStore(url, { schema })];
  const owner = { ...someOwner(), id: "other" };
  await other.open(owner);
  await one.open({ ...owner, id: "one" });
  onTestFinished(() => Promise.all([one.close(), other.close()]).then(() => undefined));
  await withClient(url, (client) =>
    client.query(`UPDATE ${schema}.owner SET lease_until = clock_timestamp() WHERE id = 'other'`),
  );
  expect(await one.renew()).toMatchObject({ gone: [], others: 0 });
  const heard: string[] = [];
  other.subscribe((changes) => {
    if (changes !== "gap") heard.push(...changes.map(({ id }) => id));
  });
  await one.write(createQueued("a"));
  await expect.poll(() => heard, patience).toEqual(["task-a"]);
}, 60_000);
