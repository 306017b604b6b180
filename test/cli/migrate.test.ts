import { expect, it, onTestFinished } from "vitest";
import { migrations } from "../../src/store/postgres/schema.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { withClient } from "../postgres/with-client.ts";
import { holdfast } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const latest = migrations.length;

async function freshDatabase(): Promise<string> {
  const fresh = await FreshDatabase.create();
  onTestFinished(() => fresh.drop());
  return fresh.url;
}

const schemasOf = (url: string): Promise<string[]> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname not like 'pg\\_%' and nspname not in ('public', 'information_schema') order by 1",
    );
    return rows.map(({ name }) => name);
  });

it("makes the schema of tasks, once", { timeout: 30_000 }, async () => {
  const url = await freshDatabase();
  const first = await runMain(["migrate", url, "--dry-run"]);
  expect(first).toEqual({
    code: 0,
    stdout: `Schema holdfast would be created: version ${latest}.\n`,
    stderr: "",
  });
  expect(await schemasOf(url)).toEqual([]);
  const made = await holdfast(["migrate", url]);
  expect(made).toEqual({
    code: 0,
    stdout: `Schema holdfast was created: version ${latest}.\n`,
    stderr: "",
  });
  expect(await schemasOf(url)).toEqual(["holdfast"]);
  const again = await runMain(["migrate", url, "--json"]);
  expect(JSON.parse(again.stdout)).toEqual({
    schema: "holdfast",
    from: latest,
    to: latest,
    dryRun: false,
  });
});

it("takes the schema from the URL or an option", async () => {
  const url = await freshDatabase();
  const inUrl = await runMain(["migrate", `${url}?schema=other`]);
  expect(inUrl.stdout).toBe(`Schema other was created: version ${latest}.\n`);
  const option = await runMain(["migrate", `${url}?schema=other`, "--schema", "third"]);
  expect(option.stdout).toBe(`Schema third was created: version ${latest}.\n`);
  expect(await schemasOf(url)).toEqual(["other", "third"]);
});

it.each(["sqlite:tasks.db", "memory:", "tasks.db"])("says of %s that it is not migrated so", async (url) => {
  expect(await runMain(["migrate", url])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "holdfast: Only a Postgres database is migrated with this command: a SQLite file is migrated when a server opens it, and memory: needs no migration.\nMore about this error:\n  holdfast docs store_url\n",
  });
});

it("is told why it cannot, without the password", async () => {
  const url = "postgres://ann:se@cret@127.0.0.1:1/tasks?password=other";
  expect(await runMain(["migrate", url])).toEqual({
    code: 6,
    stdout: "",
    stderr:
      "holdfast: postgres://127.0.0.1:1/tasks cannot be used: connect ECONNREFUSED 127.0.0.1:1.\nMore about this error:\n  holdfast docs store_unusable\n",
  });
  const { code, stderr } = await runMain(["migrate", "postgres://127.0.0.1:1/tasks", "--schema", "Tasks"]);
  expect(code).toBe(2);
  expect(stderr).toContain('schema "Tasks" must begin with a letter');
  expect((await runMain(["migrate", "mysql://127.0.0.1/tasks"])).stderr).toContain(
    "is not the URL of a store",
  );
});
