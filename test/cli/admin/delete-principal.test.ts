import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { withClient } from "../../postgres/with-client.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { turnOfPrincipal } from "../../../src/store/limits.ts";
import { eraseSql } from "../../../src/store/erased.ts";
import { tables } from "../../../src/store/sqlite/admin-sql.ts";
import type { AdminAction } from "../../../src/admin/admin.ts";
import type { Incident } from "../../../src/admin/incident-operations.ts";
import { adminJson, kinds, placeApart, runAdmin, serve, somePlace, type Place } from "./some-place.ts";
import { change } from "./change-rows.ts";
import { fileNames, findIn } from "./find-in.ts";

const [marked, other] = ["erin-9d1f", "otto-33c2"];
/** Stands in everything that the marked principal has. */
const mark = "marmalade";

async function serveAll(place: Place, hang: Promise<void>): Promise<Runtime> {
  return serve(place, (tools) => {
    tools.add("work", {}, async (args, task) => {
      const { text } = args as { readonly text: string };
      await task.log("info", `log ${text}`, { text });
      await task.output({ type: "text", text: `output ${text}` });
      await task.status(`status ${text}`);
      await task.step("make", () => `step ${text}`);
      return { content: [{ type: "text", text: `result ${text}` }] };
    });
    tools.add("fail", {}, async (args) => Promise.reject(new Error(JSON.stringify(args))));
    tools.add("spread", {}, async () => Promise.reject(new Error("out of stock")));
    tools.add("ask", {}, async (args, task) => {
      await task.status(`asks ${JSON.stringify(args)}`);
      await task.waitForEvent("wait", "never");
      return { content: [] };
    });
    tools.add("hire", {}, async (args, task) => {
      await task.call("hired", "ask", args);
      return { content: [] };
    });
    tools.add("hang", {}, async (_args, task) => {
      await task.step("begin", () => mark);
      await hang;
      return { content: [] };
    });
  });
}

/** Where its database keeps it: of Postgres without the log, which is the operator's to recycle. */
async function filesOf({ url, cwd }: Place): Promise<string> {
  if (url.startsWith("sqlite:")) return cwd;
  return withClient(url.replace(/\?.*$/, ""), async (client) => {
    await client.query("CHECKPOINT");
    const { rows } = await client.query<{ at: string }>(
      "SELECT current_setting('data_directory') || '/base/' || oid AS at FROM pg_database WHERE datname = current_database()",
    );
    return rows[0]?.at ?? "";
  });
}

/** How many tasks there are by the counts that quotas go by, and by the tasks. */
const retained = (place: Place): Promise<number> =>
  numberIn(place, "SELECT sum(retained) AS n FROM usage", { sqlite: "owner = 't'", postgres: "key = 't'" });
const rootTasks = (place: Place): Promise<number> =>
  numberIn(place, "SELECT count(*) AS n FROM task", {
    sqlite: "parent IS NULL",
    postgres: "id NOT IN (SELECT id FROM child)",
  });

async function numberIn(
  { url, cwd }: Place,
  sql: string,
  where: { readonly sqlite: string; readonly postgres: string },
): Promise<number> {
  if (url.startsWith("sqlite:")) {
    const db = new DatabaseSync(join(cwd, "tasks.db"), { readOnly: true, timeout: 20_000 });
    const row = db.prepare(`${sql} WHERE ${where.sqlite}`).get();
    db.close();
    return Number(row?.["n"]);
  }
  const schema = new URL(url).searchParams.get("schema") ?? "";
  return withClient(url.replace(/\?.*$/, ""), async (client) => {
    await client.query(`SET search_path = ${schema}`);
    const { rows } = await client.query<{ n: string }>(`${sql} WHERE ${where.postgres}`);
    return Number(rows[0]?.n);
  });
}

async function fill(runtime: Runtime, principal: string, text: string): Promise<readonly string[]> {
  const ids = [];
  for (const tool of ["work", "fail", "ask", "hire"]) {
    const origin = { capabilities: {}, caller: { claims: { name: text } } };
    const key = `key ${principal}`;
    const created = await runtime.create({
      generation: "sep-1686",
      principal,
      scope: `principal:${principal}`,
      wireId: `${tool} ${text}`,
      idempotencyKey: `${key} ${tool}`,
      tool,
      arguments: { text },
      origin,
    });
    ids.push(created.task.id);
  }
  return ids;
}

describe.each(kinds)("on %s", (keptIn) => {
  it("leaves nothing of a principal in any file, and all of the others", { timeout: 60_000 }, async () => {
    const place = await placeApart(keptIn);
    const runtime = await serveAll(place, Promise.resolve());
    const ids = await fill(runtime, marked, mark);
    const others = await fill(runtime, other, "honey");
    const store = place.store();
    await store.open({ id: "sessions", handlers: [] });
    const room = { ofPrincipal: 10, total: 100 };
    const session = {
      id: "session-1",
      principal: marked,
      expiresAt: Date.now() + 60_000,
      state: `{"a":"${mark}"}`,
    };
    await store.sessions?.put(session, room);
    await store.sessions?.put({ ...session, id: "session-2", principal: other }, room);
    await store.sessions?.update("session-2", `{"a":"honey"}`, session.state);
    await store.sessions?.send("session-1", `told ${mark}`);
    await store.close();
    const stands = async (id: string): Promise<unknown> =>
      ((await adminJson(place, "show", id)) as { state: unknown }).state;
    for (const of of [ids, others])
      for (const [place_, state] of ["completed", "failed", "waiting", "waiting"].entries())
        await expect.poll(() => stands(of[place_] ?? ""), { timeout: 20_000 }).toBe(state);
    for (const principal of [marked, other])
      await change(
        place,
        `INSERT INTO delivery (hook, event, task_id, tool, principal, generation, version, at, tries)
          VALUES ('hook', 'ended', 'gone', 'work', '${principal}', 'sep-1686', 1, 1, 0)`,
      );
    // Of a limit whose key is the principal: what a task has used that is deleted since.
    for (const principal of [marked, other]) {
      const name = `'["api","${principal}"]'`;
      await change(
        place,
        `INSERT INTO limit_line (name, ticket, paused_until, last_at) VALUES (${name}, 1, 0, 1)`,
      );
      await change(
        place,
        `INSERT INTO limit_place (name, task_id, entry, token, owner, turn_of, ticket, phase, since, lives_on)
          VALUES (${name}, 'gone', 'step', 'a', 'b', '${turnOfPrincipal(principal)}', 1, 'past', 1, 0)`,
      );
    }
    // A process that has died reported what it ran.
    const body = JSON.stringify({ steps: [{ taskId: ids[2], key: `for ${marked}` }] });
    for (const [owner, said] of Object.entries({ gone: body, other: "{}" }))
      await change(place, `INSERT INTO report (owner, minute, body) VALUES ('${owner}', 7, '${said}')`);
    await adminJson(place, "retry", ids[0] ?? "");
    // What operators have noted on a cause that others share, and on one of this principal alone.
    const origin = { capabilities: {} };
    const call = { generation: "2026-07-28", principal: marked, arguments: {}, origin } as const;
    await runtime.create({ ...call, tool: "spread" });
    const incidents = async (): Promise<readonly Incident[]> =>
      ((await adminJson(place, "incidents")) as { readonly incidents: readonly Incident[] }).incidents;
    await expect.poll(incidents, { timeout: 20_000 }).toHaveLength(2);
    for (const { tool, cause } of await incidents()) {
      const note = tool === "fail" ? `As ${marked}, and others, said` : `About ${mark}`;
      await adminJson(place, "mark", cause, "--mute", "--note", note);
    }
    // The record of a bulk action has the words that its operator searched by.
    await adminJson(place, "extend", "--all", "--text", mark, "--tool", "fail", "2d", "--yes");
    expect(await findIn(await filesOf(place), [mark, marked])).not.toEqual([]);

    await expect
      .poll(() => adminJson(place, "list", "--tool", "work", "--principal", marked))
      .toMatchObject({
        tasks: [{ state: "completed" }, { state: "completed" }],
      });

    const { code, stdout, stderr } = await runAdmin(place, "delete-principal", marked, "--yes", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      principal: marked,
      left: [],
      isClean: true,
      deleted: expect.objectContaining({
        session: 1,
        action: 1,
        delivery: 1,
        bulk_job: 1,
        limit_place: 1,
        limit_line: 1,
        report: 1,
      }),
    });
    const { deleted } = JSON.parse(stdout) as { readonly deleted: Readonly<Record<string, number>> };
    for (const kind of ["task", "request", "outcome", "line", "journal"])
      expect([kind, deleted[kind]]).toEqual([kind, expect.toSatisfy((count: number) => count >= 3)]);
    expect(await findIn(await filesOf(place), [mark, marked, `principal:${marked}`])).toEqual([]);
    const { actions } = (await adminJson(place, "actions")) as { readonly actions: readonly AdminAction[] };
    const erased = actions.filter(({ action }) => action === "erase");
    expect(erased).toEqual([
      {
        seq: expect.any(Number),
        at: expect.any(Number),
        actor: expect.stringContaining("@"),
        action: "erase",
        taskId: null,
        tool: null,
        detail: { person: expect.stringMatching(/^[0-9a-f]{32}$/) as string },
      },
    ]);
    // Reads before it stay, and nobody can say any more whose data that was.
    expect(actions.map(({ detail }) => detail)).toContainEqual({
      ...(erased[0]?.detail as object),
      by: "show",
    });
    expect(await adminJson(place, "actions", "--principal", marked)).toEqual({ actions: [] });
    for (const id of others) expect(await stands(id)).toBeTypeOf("string");
    expect(await incidents()).toMatchObject([{ tool: "fail", muted: true, note: null }]);
    expect(await adminJson(place, "list", "--principal", marked)).toEqual({ tasks: [], next: null });
    expect(await retained(place)).toEqual(await rootTasks(place));
    // The server goes on.
    expect(await fill(runtime, "new", "jam")).toHaveLength(4);
    await runtime.stop();
    expect(await findIn(await filesOf(place), [mark, marked])).toEqual([]);
  });

  it("says which tasks have not ended, and is not done before they have", { timeout: 60_000 }, async () => {
    const place = await placeApart(keptIn);
    const hang = Promise.withResolvers<void>();
    const runtime = await serveAll(place, hang.promise);
    const { task } = await runtime.create({
      generation: "2026-07-28",
      principal: marked,
      tool: "hang",
      arguments: {},
      origin: { capabilities: {} },
    });
    await expect.poll(async () => adminJson(place, "show", task.id)).toMatchObject({ state: "running" });
    // Its handler hears of it, and after the grace its task ends without it.
    const done = (await adminJson(place, "delete-principal", marked, "--yes", "--grace", "1s")) as object;
    expect(done).toMatchObject({ left: [], isClean: true, deleted: { task: 1 } });
    hang.resolve();
    await runtime.stop();
    expect(await findIn(await filesOf(place), [mark, marked])).toEqual([]);
  });
});

it("knows of all tables that have something of a task or of a principal", async () => {
  const place = await somePlace("SQLite");
  await (await serveAll(place, Promise.resolve())).stop();
  const db = new DatabaseSync(join(place.cwd, "tasks.db"), { readOnly: true });
  const columns = db
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND c.name IN ('task_id', 'principal', 'session', 'message') ORDER BY 1, 2`,
    )
    .all();
  db.close();
  const found = columns.map((row) => `${String(row["table"])}.${String(row["column"])}`);
  const { ofTasks, ofPrincipal } = eraseSql(tables, "sqlite");
  const known = [...Object.keys(ofTasks), ...Object.keys(ofPrincipal), "change"];
  expect(found.filter((name) => !known.includes(name.split(".")[0] ?? ""))).toEqual([]);
  expect(found.length).toBeGreaterThan(8);
});

it("asks first", async () => {
  const place = await somePlace("SQLite");
  await (await serveAll(place, Promise.resolve())).stop();
  const { code, stderr } = await runAdmin(place, "delete-principal", marked);
  expect([code, stderr]).toEqual([2, expect.stringContaining("--yes")]);
  expect(
    (await runAdmin({ ...place, url: "https://host/admin" }, "delete-principal", marked, "--yes")).code,
  ).toBe(2);
  expect(await readdir(place.cwd)).toContain("tasks.db");
  expect(await fileNames(place.cwd)).toContain(join(place.cwd, "tasks.db"));
  expect(await readFile(join(place.cwd, "tasks.db"))).not.toHaveLength(0);
});
