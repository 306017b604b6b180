import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { statements } from "./all-statements.ts";
import { taskStates, type TaskState } from "../../../src/task/outcome.ts";
import { nextState, transitions, type TaskEvent } from "../../../src/task/transition.ts";

const events = Object.keys(transitions) as TaskEvent[];
const leaves = (state: TaskState): boolean => events.some((event) => nextState(state, event) !== undefined);
/** By the table and not by name: unfinished is what some event leaves or changes. */
const unfinished = taskStates.filter(leaves).sort();
const finished = taskStates.filter((state) => !leaves(state)).sort();

let db: DatabaseSync;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
  migrate(db);
});
afterEach(() => db.close());

/** The text of a table or index as the schema has it. */
function definition(name: string): string {
  return String(db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").get(name)?.["sql"]);
}

/** Every list of states in a text, sorted. */
function stateLists(text: string): string[][] {
  return [...text.matchAll(/\bstate IN \(([^)]*)\)/g)].map(([, list = ""]) =>
    [...list.matchAll(/'([^']*)'/g)].map(([, state = ""]) => state).sort(),
  );
}

/** What is claimed, and what a claim makes of it, which is what is reclaimed. */
const single: readonly string[] = [...transitions.start.from, transitions.start.to];

/** Every state that a text names alone. */
function singleStates(text: string): string[] {
  return [...text.matchAll(/\bstate = '([^']*)'/g)].map(([, state = ""]) => state);
}

test("a task can be in every state of the table, and in no other", () => {
  expect(stateLists(definition("task"))).toEqual([[...taskStates].sort()]);
});

test.each([
  ["task_unfinished", unfinished],
  ["task_due", unfinished],
  ["task_deletable", finished],
])("the index %s has the states that it is for", (name, states) => {
  expect(stateLists(definition(name))).toEqual([states]);
});

test("the tasks that can be claimed, and those that wait, are in the state that tasks are claimed from", () => {
  for (const name of ["task_ready", "task_parked"])
    expect(singleStates(definition(name))).toEqual(transitions.start.from);
  expect(transitions.wake.from).toEqual(transitions.start.from);
});

test("what counts for a limit is in the state that claimed tasks are in", () => {
  expect(singleStates(definition("task_limited"))).toEqual([transitions.start.to]);
});

test("a queued task is either among those that can be claimed, or among those that wait", () => {
  const conditions = ["task_ready", "task_parked"].map((name) => definition(name).split(" WHERE ")[1] ?? "");
  const [ready = "", parked = ""] = conditions.map((text) => text.replaceAll(/\s+/g, " "));
  expect(ready).toContain("lane IS NOT NULL");
  expect(parked).toBe(ready.replace("lane IS NOT NULL", "lane IS NULL"));
});

test("no index knows other states than these", () => {
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").all();
  for (const { name } of names) {
    const text = definition(String(name));
    for (const list of stateLists(text)) expect([unfinished, finished]).toContainEqual(list);
    // A condition in another form would escape this test.
    for (const state of singleStates(text)) {
      expect([...transitions.start.from, transitions.start.to]).toContain(state);
    }
    expect(text.replaceAll(/\bstate (IN \(|= ')|\(tool, state, outcome_kind, id\)/g, "")).not.toMatch(
      /\bstate\b/,
    );
  }
});

test("every statement that reads by state reads all unfinished or all finished tasks, those queued, or those running", () => {
  const lists = [...statements.values()].flatMap(stateLists);
  expect(lists.length).toBeGreaterThan(4);
  for (const list of lists) expect([unfinished, finished]).toContainEqual(list);
  for (const state of [...statements.values()].flatMap(singleStates)) expect(single).toContain(state);
});

test("every statement can be prepared, so that each finds the index that it asks for", () => {
  for (const statement of statements.values()) expect(() => db.prepare(statement)).not.toThrow();
});
