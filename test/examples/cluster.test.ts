import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newFolder } from "../docs/example-process.ts";
import { FreshDatabase } from "../postgres/test-database.ts";
import { withClient } from "../postgres/with-client.ts";
import { ExampleProcess } from "./index-folder-process.ts";

const script = "../cluster/demo.ts";

async function scratchFolder(): Promise<string> {
  const scratch = join(await newFolder(), "scratch");
  await mkdir(scratch);
  return scratch;
}

it(
  "finishes the tasks of a node that is killed on the others, and leaves nothing",
  { timeout: 90_000 },
  async () => {
    const database = await FreshDatabase.create();
    onTestFinished(() => database.drop());
    const scratch = await scratchFolder();
    const run = new ExampleProcess(script, [], { env: { TMPDIR: scratch, HOLDFAST_STORE: database.url } });
    expect(await run.ended()).toBe(0);
    const told = await run.stdout;
    expect(told.match(/✓/g)).toHaveLength(4);
    expect(told).not.toContain("✗");
    expect(told).toMatch(/ 4 {2}SIGKILL to node B, pid \d+: no warning/);
    expect(await run.stderr).toBe("");
    expect(await readdir(scratch)).toEqual([]);
    await withClient(database.url, async (client) => {
      const { rows } = await client.query("select nspname from pg_namespace where nspname like 'holdfast%'");
      expect(rows).toEqual([]);
    });
  },
);

it("ends its nodes, and drops its schema, when it is interrupted", { timeout: 60_000 }, async () => {
  const database = await FreshDatabase.create();
  onTestFinished(() => database.drop());
  const scratch = await scratchFolder();
  const run = new ExampleProcess(script, [], { env: { TMPDIR: scratch, HOLDFAST_STORE: database.url } });
  const [told] = await run.printed(/A: pid (\d+)[^]*B: pid (\d+)[^]*C: pid (\d+)[^]* 3 {2}/);
  run.signal("SIGINT");
  expect(await run.ended()).toBe(130);
  for (const [, pid] of told.matchAll(/: pid (\d+)/g))
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  expect(await readdir(scratch)).toEqual([]);
  await withClient(database.url, async (client) => {
    const { rows } = await client.query("select nspname from pg_namespace where nspname like 'holdfast%'");
    expect(rows).toEqual([]);
  });
});

it("says what it needs of a store", async () => {
  const run = new ExampleProcess(script, [], { env: { HOLDFAST_STORE: "sqlite:tasks.db" } });
  expect(await run.ended()).toBe(1);
  expect(await run.stderr).toContain("HOLDFAST_STORE must be postgres://HOST/DATABASE here");
});
