import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { renderStateMachine } from "../../scripts/state-machine.ts";
import { taskStates } from "../../src/task/outcome.ts";
import { nextState, transitions, type TaskEvent } from "../../src/task/transition.ts";

const page = await readFile(new URL("../../docs/internals/state-machine.md", import.meta.url), "utf8");
const events = Object.keys(transitions) as TaskEvent[];

test("the page is what the table makes of it; if not: npm run docs:state-machine", async () => {
  expect(page).toBe(await renderStateMachine());
});

test("the diagram has the arrows that nextState has, and no others between two states", () => {
  const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+): (.+)$/gm)].flatMap(([, from, to, names = ""]) =>
    names.split(", ").map((event) => `${from} ${event} ${to}`),
  );
  const expected = events.flatMap((event) =>
    taskStates.flatMap((state) => {
      const next = nextState(state, event);
      return next === undefined ? [] : [`${state} ${event} ${next}`];
    }),
  );
  expect(drawn.sort()).toEqual(expected.sort());
});

test("the table has one row per event, in the order of the source", () => {
  const rows = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, event]) => event);
  expect(rows).toEqual(events);
});
