import { expect, onTestFinished, test } from "vitest";
import { createTasks, type ServerEvent } from "holdfast";
import { postgresStore } from "holdfast/postgres";
import { OwnServer } from "../../postgres/own-server.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

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
