import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Registry } from "../../../src/runtime/tool/registry.ts";
import { FreshDatabase } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";
import { admin, adminJson, call, runAdmin, serve, somePlace, type Place } from "./some-place.ts";

/** In texts of JSON, and ends of lines to some. */
const odd = "a\u2028b\u2029c\nd\r\ne \u0000 \ud800 \"'";

const works = (tools: Registry): void => {
  tools.add("work", {}, async (_args, task) => {
    await task.log("info", odd);
    const made = await task.step("make", () => odd);
    return { content: [{ type: "text", text: made }] };
  });
};

/** Another schema, for a store loaded from a dump of `place`, whose folder has the dumps. */
async function another(place: Place): Promise<Place> {
  return { ...(await somePlace("Postgres")), cwd: place.cwd };
}

const schemaOf = (place: Place): string => new URL(place.url).searchParams.get("schema") ?? "";

it(
  "dumps a schema while its server goes on, and makes another one of that",
  { timeout: 60_000 },
  async () => {
    const place = await somePlace("Postgres");
    const runtime = await serve(place, works);
    const first = await call(runtime, "work", { odd });
    const completed = { state: "completed", outcome: { body: { content: [{ text: odd }] } } };
    await expect.poll(() => adminJson(place, "show", first)).toMatchObject(completed);
    const all = async (of: Place): Promise<string> => admin(of, "export");
    const before = await all(place);
    expect(await admin(place, "dump", "tasks.dump")).toMatch(/^dumped 1 task to tasks\.dump: /);
    const later = await call(runtime, "work", {});
    await expect.poll(() => adminJson(place, "show", later)).toMatchObject({ state: "completed" });

    const copy = await another(place);
    expect(await admin(copy, "load", "tasks.dump", "--beside")).toMatch(/^loaded 1 task as of /);
    expect(await all(copy)).toBe(before);
    // Its server goes on from there.
    const second = await serve(copy, works);
    const task = await call(second, "work", {});
    await expect.poll(() => adminJson(copy, "show", task)).toMatchObject(completed);
    expect(await adminJson(copy, "counts")).toMatchObject({ tools: [{ completed: 2 }] });
  },
);

it(
  "is not opened while others have the original open, be it in another database",
  { timeout: 60_000 },
  async () => {
    const place = await somePlace("Postgres");
    const runtime = await serve(place, works);
    await call(runtime, "work", {});
    await admin(place, "dump", "tasks.dump");
    const database = await FreshDatabase.create();
    onTestFinished(() => database.drop());
    const copies: readonly Place[] = [await another(place), { ...place, url: database.url }];
    for (const copy of copies) {
      await admin(copy, "load", "tasks.dump");
      const { code, stderr } = await runAdmin(copy, "list");
      expect([code, stderr]).toEqual([
        6,
        expect.stringMatching(
          new RegExp(
            `loaded from a dump of schema ${schemaOf(place)} of database .*, which is in use by process ${process.pid} on`,
          ),
        ),
      ]);
    }
    await runtime.stop();
    for (const copy of copies)
      expect(await adminJson(copy, "list")).toMatchObject({ tasks: [{ tool: "work" }] });
    await serve(place, works);
    for (const copy of copies)
      expect(await adminJson(copy, "list")).toMatchObject({ tasks: [{ tool: "work" }] });
  },
);

it("takes no schema that has tasks, and leaves nothing of a dump that is refused", async () => {
  const place = await somePlace("Postgres");
  const runtime = await serve(place, works);
  await call(runtime, "work", {});
  await admin(place, "dump", "tasks.dump");
  const refused = async (
    of: Place,
    ...words: readonly string[]
  ): Promise<readonly [number | null, string]> => {
    const { code, stderr } = await runAdmin(of, ...words);
    return [code, stderr];
  };
  expect(await refused(place, "load", "tasks.dump")).toEqual([
    2,
    expect.stringContaining("already has tasks"),
  ]);
  expect(await refused(place, "dump", "tasks.dump")).toEqual([2, expect.stringContaining("already exists")]);
  const copy = await another(place);
  const bytes = await readFile(join(place.cwd, "tasks.dump"));
  await writeFile(join(place.cwd, "cut"), bytes.subarray(0, -100));
  expect(await refused(copy, "load", "cut")).toEqual([6, expect.stringContaining("was cut at line ")]);
  expect(await refused(copy, "dump", "none")).toEqual([
    6,
    expect.stringContaining("has no Holdfast tables in schema"),
  ]);
  await withClient(place.url.replace(/\?.*$/, ""), async (client) => {
    const found = await client.query("select 1 from pg_namespace where nspname = $1", [schemaOf(copy)]);
    expect(found.rows).toEqual([]);
  });
});

it(
  "takes a dump of a SQLite store to the end only once its server has stopped, and opens only then",
  { timeout: 60_000 },
  async () => {
    const place = await somePlace("SQLite");
    const runtime = await serve(place, works);
    await call(runtime, "work", {});
    await admin(place, "dump", "first.dump");
    const copy = await another(place);
    const { code, stderr } = await runAdmin(copy, "load", "first.dump");
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining(`which is in use by process ${process.pid} on`),
    ]);
    await admin(copy, "load", "first.dump", "--partial");
    expect(await runAdmin(copy, "list")).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("is not complete"),
    });
    await expect(serve(copy, works)).rejects.toMatchObject({ code: "store_locked" });
    const later = await call(runtime, "work", {});
    await runtime.stop();
    await admin(place, "dump", "last.dump", "--since", "first.dump");
    expect(await adminJson(copy, "load", "last.dump")).toMatchObject({ tasks: 2, partial: false });
    expect(await adminJson(copy, "show", later)).toMatchObject({ id: later });
  },
);

it("is not filled while a server has it open", { timeout: 60_000 }, async () => {
  const place = await somePlace("SQLite");
  await (await serve(place, works)).stop();
  await admin(place, "dump", "empty.dump");
  const copy = await another(place);
  const runtime = await serve(copy, works);
  const { code, stderr } = await runAdmin(copy, "load", "empty.dump");
  expect([code, stderr]).toEqual([6, expect.stringContaining(`is in use by process ${process.pid} on`)]);
  await call(runtime, "work", {});
  await runtime.stop();
  // Nor is anything left of it.
  expect(await adminJson(copy, "list")).toMatchObject({ tasks: [{ tool: "work" }] });
});
