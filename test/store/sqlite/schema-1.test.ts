import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { toStored } from "../../../src/store/stored-text.ts";
import { useTempDirectory } from "./temp-directory.ts";

const files = useTempDirectory();

/** A file as the first schema left it, with one task per outcome: kind and body; null is a task without any. */
function writeSchema1(path: string, outcomes: Record<string, readonly [kind: string, body: string] | null>) {
  const db = new DatabaseSync(path);
  migrate(db, migrations.slice(0, 1));
  for (const [id, outcome] of Object.entries(outcomes)) {
    const state = outcome === null ? "queued" : "settled";
    const row = {
      id,
      wire_id: id,
      generation: "2026-07-28",
      scope: "",
      principal: "ann",
      method: "tools/call",
      tool: "x",
      request_hash: "h",
      state,
      version: 3,
      created_at: 1,
      updated_at: 2,
      finished_at: outcome === null ? null : 2,
      expiry_from: "created",
      poll_interval_ms: 5,
      open_inputs: 0,
      attempt: 1,
      journalled: 0,
      waiting: 0,
      crashes: 0,
    };
    const names = Object.keys(row);
    const places = names.map(() => "?").join(", ");
    db.prepare(`INSERT INTO task (${names.join(", ")}) VALUES (${places})`).run(...Object.values(row));
    if (outcome !== null) {
      const [kind, body] = outcome;
      db.prepare("INSERT INTO outcome (task_id, kind, body) VALUES (?, ?, ?)").run(id, kind, toStored(body));
    }
  }
  db.close();
}

test("a file of the first schema gets its lists, and each outcome its kind", async () => {
  const outcomes = {
    open: null,
    fine: ["result", '{"content":[]}'],
    failed: ["result", '{ "content":[], "isError": true }'],
    denied: ["result", '{"isError":false}'],
    quoted: ["result", '{"isError":"true"}'],
    nested: ["result", '{"structuredContent":{"isError":true}}'],
    error: ["error", '{"code":-32603,"message":"no","isError":true}'],
    odd: ["result", "no JSON"],
    half: ["result", '{"text":"\ud800"}'],
  } as const;
  writeSchema1(files.path(), outcomes);
  const store = await files.open();
  const listed = await store.list({ generation: "2026-07-28", principal: "ann" }, null, 99, 10);
  expect(Object.fromEntries(listed.map(({ id, outcomeKind }) => [id, outcomeKind]))).toEqual({
    open: null,
    fine: "result",
    failed: "error_result",
    denied: "result",
    quoted: "result",
    nested: "result",
    error: "error",
    odd: "result",
    half: "result",
  });
  for (const [id, outcome] of Object.entries(outcomes)) {
    const { outcome: read } = (await store.snapshot(id)) ?? {};
    expect(read?.body).toBe(outcome?.[1]);
  }
});

test("a cancelled task of the first schema has no outcome still", async () => {
  writeSchema1(files.path(), { gone: null });
  const db = new DatabaseSync(files.path());
  db.exec("UPDATE task SET state = 'cancelled', finished_at = 2");
  db.close();
  const store = await files.open();
  expect(await store.snapshot("gone")).toMatchObject({ task: { outcomeKind: null }, outcome: null });
});
