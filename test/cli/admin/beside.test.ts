import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { withClient } from "../../postgres/with-client.ts";
import { folder, holdfast, startHoldfast } from "../run-cli.ts";
import { runMain } from "../run-main.ts";
import { admin, adminJson, call, kinds, runAdmin, serve, somePlace, type Place } from "./some-place.ts";

/** All rows of a store but those of its owners, and how many owners it has that were not given up. */
async function contents({ url, cwd }: Place): Promise<{ readonly tasks: unknown; readonly owners: number }> {
  if (url.startsWith("sqlite:")) {
    const db = new DatabaseSync(join(cwd, "tasks.db"), { readOnly: true, timeout: 20_000 });
    try {
      const tasks = db.prepare("SELECT * FROM task ORDER BY id").all();
      return { tasks, owners: db.prepare("SELECT id FROM owner WHERE retired = 0").all().length };
    } finally {
      db.close();
    }
  }
  const schema = new URL(url).searchParams.get("schema") ?? "";
  return withClient(url.replace(/\?.*$/, ""), async (client) => {
    const { rows: tasks } = await client.query(`SELECT * FROM ${schema}.task ORDER BY id`);
    const { rows } = await client.query(`SELECT id FROM ${schema}.owner WHERE retired = 0`);
    return { tasks, owners: rows.length };
  });
}

/** A store as a server leaves it that is killed while a handler works: with a task that runs, one that is queued, and one whose time is over. */
async function abandoned(place: Place): Promise<readonly string[]> {
  const ids = [];
  const store = place.store();
  await store.open({ id: "gone", handlers: [{ method: "tools/call", tool: "work" }] });
  const now = Date.now() - 3_600_000;
  for (const [index, name] of ["run", "wait", "late"].entries()) {
    const task = `${(now + index).toString(16).padStart(12, "0")}${name.padEnd(22, "0")}`;
    ids.push(task);
    await store.write({
      type: "create",
      task: {
        id: task,
        wireId: task,
        generation: "2026-07-28",
        scope: "",
        principal: "ann",
        method: "tools/call",
        tool: "work",
        idempotencyKey: null,
        requestHash: "",
        requiredScopes: [],
        expiry: { from: "created", ms: name === "late" ? 1_000 : null },
        runUntil: null,
        pollIntervalMs: 500,
        statusMessage: null,
      },
      request: { origin: { capabilities: {} }, arguments: "{}", prepared: null },
      token: name === "run" ? "token" : null,
      now,
    });
  }
  await store.close();
  return ids;
}

describe.each(kinds)("a store on %s that nobody has open", (kind) => {
  it("is looked at without a change: nothing is claimed, given back or ended", async () => {
    const place = await somePlace(kind);
    const [running, queued, late] = await abandoned(place);
    const before = await contents(place);
    expect(before.tasks).toHaveLength(3);
    expect(await adminJson(place, "list")).toMatchObject({
      tasks: [
        { id: late, state: "queued" },
        { id: queued, state: "queued" },
        { id: running, state: "running", owner: "gone" },
      ],
    });
    for (const look of [
      ["show", running ?? ""],
      ["counts"],
      ["failures", "work"],
      ["actions"],
      ["top", "--once"],
    ])
      await admin(place, ...look);
    expect((await contents(place)).tasks).toEqual(before.tasks);
  });

  it("gets what an operator does, and a server that starts goes on from there", async () => {
    const place = await somePlace(kind);
    const [running = "", queued = ""] = await abandoned(place);
    expect(await admin(place, "cancel", running)).toBe(`cancelled ${running}\n`);
    await serve(place, (tools) => tools.add("work", {}, () => ({ content: [] })));
    const states = async (): Promise<unknown> => adminJson(place, "list", "--state", "completed");
    await expect.poll(states).toMatchObject({ tasks: [{ id: queued }] });
    expect(await adminJson(place, "show", running)).toMatchObject({
      state: "cancelled",
      attempts: [{ owner: "gone" }],
    });
  });
});

describe.each(kinds)("beside a server on %s", (kind) => {
  it("the command takes nothing over, and nothing of it is left", { timeout: 60_000 }, async () => {
    const place = await somePlace(kind);
    const release = Promise.withResolvers<void>();
    const runtime = await serve(place, (tools) =>
      tools.add("work", {}, async () => {
        await release.promise;
        return { content: [] };
      }),
    );
    const task = await call(runtime, "work");
    const shown = await Promise.all(
      [1, 2, 3].map(() => holdfast(["admin", place.url, "list"], { cwd: place.cwd })),
    );
    for (const { code, stdout } of shown) expect([code, stdout.slice(0, 34)]).toEqual([0, task]);
    expect(await adminJson(place, "show", task)).toMatchObject({ state: "running", attempt: 1, crashes: 0 });
    // The server gives up what processes leave that are gone.
    const owners = async (): Promise<number> => (await contents(place)).owners;
    if (kind === "Postgres") await expect.poll(owners, { timeout: 30_000 }).toBe(1);
    release.resolve();
    const ended = async (): Promise<unknown> => adminJson(place, "show", task);
    await expect.poll(ended).toMatchObject({ state: "completed", attempt: 1 });
    await runtime.stop();
    if (kind === "SQLite") {
      // What the last commands left is found by whoever opens the store next.
      expect(await readdir(join(place.cwd, "tasks.db.owners"))).toEqual([]);
      const next = await serve(place, () => undefined);
      await next.stop();
      expect(await owners()).toBe(1);
    }
  });
});

it("makes no file and no folder, and migrates nothing", async () => {
  const cwd = await folder();
  await mkdir(join(cwd, "folder"));
  await writeFile(join(cwd, "empty.db"), "");
  const before = await readdir(cwd);
  const refused = async (store: string): Promise<string> => {
    const { code, stdout, stderr } = await runMain(["admin", store, "list"], { cwd });
    expect([store, code, stdout]).toEqual([store, 6, ""]);
    return stderr;
  };
  const missing = `holdfast: There is no file ${join(cwd, "tasks.db")}.\n`;
  expect(await refused("tasks.db")).toBe(
    `${missing}More about this error:\n  holdfast docs store_unusable\n`,
  );
  expect(await refused("sqlite:new/tasks.db")).toContain("There is no file");
  expect(await refused("folder")).toContain("is not a regular file");
  expect(await refused("empty.db")).toContain("is empty. Start a server on it first");
  expect(await readdir(cwd)).toEqual(before);
  expect(await readFile(join(cwd, "empty.db"), "utf8")).toBe("");
  expect(await runMain(["admin", "memory:", "list"], { cwd })).toMatchObject({ code: 2 });
  expect(await runMain(["admin", "mysql://x/y", "list"], { cwd })).toMatchObject({ code: 2 });
  expect(await refused("postgres://127.0.0.1:1/tasks")).toContain("ECONNREFUSED");
});

it("makes no schema in a database that has none", async () => {
  const place = await somePlace("Postgres");
  const { code, stderr } = await runAdmin(place, "list");
  expect([code, stderr]).toEqual([6, expect.stringContaining("holdfast migrate")]);
});

it("ends quietly where nobody reads what it prints, and leaves no lock", async () => {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, (tools) => tools.add("work", {}, () => ({ content: [] })));
  await call(runtime, "work");
  const command = startHoldfast(["admin", place.url, "list"], { cwd: place.cwd });
  command.stopReading();
  expect(await command.ended).toMatchObject({ code: 141, stderr: "" });
  expect(await readdir(join(place.cwd, "tasks.db.owners"))).toHaveLength(1);
});
