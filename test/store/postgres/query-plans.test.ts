import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Names } from "../../../src/store/postgres/names.ts";
import type { SqlValue } from "../../../src/store/postgres/database.ts";
import { fullForm } from "../../full-form.ts";
import { putMany } from "./many-tasks.ts";
import { changedColumns, samples } from "./sample-values.ts";
import { SomeSchema } from "./some-schema.ts";

const count = fullForm ? 1_000_000 : 100_000;
/** The rows that a statement that is asked for some dozens may touch beside those that it returns: a few for each step on the way. */
const mostRows = 2_000;
/** Postgres compiles a statement that it expects to cost more (`jit_above_cost`), which takes it hundreds of milliseconds. */
const mostCost = 100_000;

const folder = new URL("../../../src/store/postgres/", import.meta.url);
const modules = await Promise.all(
  readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map(async (file) => Object.entries((await import(new URL(file, folder).href)) as object)),
);

/** One that depends on the columns that it writes is a function of these. */
type Statement = string | ((columns: readonly string[]) => string);

/** All statements of the store, as `module.name`, whichever modules there are. */
function statements(names: Names): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, make] of modules.flat() as readonly [string, unknown][]) {
    if (!/^[a-z].*Statements$/.test(name) || typeof make !== "function") continue;
    const made = (make as (names: Names) => Readonly<Record<string, Statement>>)(names);
    for (const [each, sql] of Object.entries(made)) {
      const text = typeof sql === "string" ? sql : sql(changedColumns);
      found.set(`${name.replace("Statements", "")}.${each}`, text);
    }
  }
  return found;
}

let schema: SomeSchema;
beforeAll(async () => {
  schema = await SomeSchema.create();
  await putMany(schema, count);
}, 600_000);
afterAll(() => schema[Symbol.asyncDispose]());

/** A step of a plan, as `EXPLAIN` with JSON describes it. */
interface Step {
  readonly "Node Type": string;
  readonly "Total Cost": number;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Step[];
}

function stepsOf(step: Step): readonly Step[] {
  return [step, ...(step.Plans ?? []).flatMap(stepsOf)];
}

interface Looked {
  /** The steps that go through tables. */
  readonly scans: readonly Step[];
  /** How many rows the statement returns. */
  readonly returned: number;
  /** What Postgres expects it to cost. */
  readonly cost: number;
}

/** Runs a statement, and undoes it. */
async function lookAt(sql: string, values: readonly SqlValue[]): Promise<Looked> {
  const transaction = await schema.database.begin();
  try {
    const [row] = await transaction.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values);
    const [explained] = row as unknown as readonly [readonly [{ readonly Plan: Step }]];
    const plan = explained[0].Plan;
    const scans = stepsOf(plan).filter((step) => step["Node Type"].endsWith("Scan"));
    return { scans, returned: plan["Actual Rows"], cost: plan["Total Cost"] };
  } finally {
    await transaction.rollback();
  }
}

function touched(step: Step): number {
  const removed = (step["Rows Removed by Filter"] ?? 0) + (step["Rows Removed by Index Recheck"] ?? 0);
  return (step["Actual Rows"] + removed) * step["Actual Loops"];
}

/** Of what stores know of themselves there is little, of sessions no more than there is room for, and few bulk jobs. */
const small = ["migration", "owner", "secret", "session", "paused_tool", "cause_mark", "bulk_job"];
/** A new session is counted with all the others. */
const counts = "session.put";

test.for(Object.entries(samples))("%s finds its rows by an index", async ([name, values]) => {
  const sql = statements(schema.names).get(name.split(" ")[0] ?? "") ?? "";
  const { scans, returned, cost } = await lookAt(sql, values);
  expect(cost).toBeLessThan(mostCost);
  const table = (step: Step): string => step["Relation Name"] ?? "";
  const whole = scans.filter((step) => step["Node Type"] === "Seq Scan" && !small.includes(table(step)));
  expect(whole.map(table)).toEqual([]);
  if (name === counts) return;
  const rows = scans.map(touched).reduce((sum, each) => sum + each, 0);
  expect(rows - returned).toBeLessThan(mostRows);
});

test("a claim for many handlers, with many principals waiting, is not expected to cost so much that Postgres compiles it", async () => {
  const tools = Array.from({ length: 50 }, (_, n) => `tool-${n}`);
  const each = (value: string): readonly string[] => tools.map(() => value);
  const names = tools.map((tool) => JSON.stringify({ method: "tools/call", tool }));
  const values = [each("tools/call"), tools, each("principal-3"), "owner-1", 16, [], 8, names];
  const { cost } = await lookAt(statements(schema.names).get("claim.heads") ?? "", values);
  expect(cost).toBeLessThan(mostCost);
});

test.each([
  ["read.unfinished", "id > $1", "id", ""],
  ["admin.open", "id < $1", "id DESC", "\u{10ffff}"],
])(
  "%s has the first of the queued ones and of all owners' running ones, at a low cost",
  async (name, where, order, from) => {
    const sql = statements(schema.names).get(name) ?? "";
    const values = [from, 1_000];
    const { task } = schema.names;
    const all = `SELECT id FROM ${task} WHERE state IN ('queued', 'running') AND ${where} ORDER BY ${order} LIMIT $2`;
    const found = await schema.database.query(`SELECT id FROM (${sql}) AS found`, values);
    expect(found).toEqual(await schema.database.query(all, values));
    expect((await lookAt(sql, values)).cost).toBeLessThan(mostCost);
  },
);

test("every statement has values with which its plan is looked at", () => {
  const sampled = new Set(Object.keys(samples).map((name) => name.split(" ")[0]));
  expect(sampled).toEqual(new Set(statements(schema.names).keys()));
});
