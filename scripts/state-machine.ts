// Makes docs/state-machine.md from the transition table: npm run docs:state-machine
import { writeFile } from "node:fs/promises";
import { format } from "prettier";
import { isTerminal, taskStates, type TaskState } from "../src/task/status.ts";
import { nextState, transitions, type TaskEvent } from "../src/task/transition.ts";

const events = Object.keys(transitions) as TaskEvent[];

/** The page about the state machine, made from the transition table. */
export function renderStateMachine(): Promise<string> {
  const page = `<!-- Made from src/task/transition.ts by \`npm run docs:state-machine\`. Do not edit. -->

# The state machine of a task

Every change of a task is one of the events below, in one transaction that either commits or says why not. Nothing
leaves ${list(taskStates.filter(isTerminal), " or ")}: the first settlement wins.

\`\`\`mermaid
${diagram()}
\`\`\`

| event | from | to | by | under token | owner | meaning |
| --- | --- | --- | --- | --- | --- | --- |
${events.map(row).join("\n")}

**Under token**: only the attempt (one run of the handler) that holds the task can cause the event. An attempt that lost
its task is refused.

**Owner**: a process that has the store open. While a task is queued, its owner is the process that is to run it as long as
it lives, or nobody: then any process may claim it. While it runs, its owner is the process that runs it. \`claim\` starts
several tasks at once, of which each may be claimed by this owner: its own, those of nobody, and those of owners that are gone.

**Parked**: a queued task that cannot be claimed yet. Its handler waited for questions or sleeps when its attempt ended, so
that nothing of it runs until an answer, a deadline or a cancel has come. A task that crashed more than once pauses in the same way.

\`join\` and \`leave\` say for which tasks callers wait that know no tasks, and when a task is cancelled whose callers have left.
\`create\` inserts a task, and \`delete_expired\` removes finished ones whose time is over; none of them depends on a state. A
task that clients see as \`input_required\` is an unfinished task with open questions.
`;
  return format(page, { parser: "markdown", printWidth: 110 });
}

/** One arrow for all events between the same two states. */
function diagram(): string {
  const arrows = new Map<string, string[]>();
  for (const event of events) {
    for (const state of taskStates) {
      const next = nextState(state, event);
      if (next === undefined) continue;
      const arrow = `${state} --> ${next}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), event]);
    }
  }
  return [
    "stateDiagram-v2",
    ...taskStates
      .filter((state) => !isTerminal(state))
      .map((state) => `  ${state}: ${state} (${ownerIn[state]})`),
    "  [*] --> queued: create",
    "  [*] --> running: create",
    ...[...arrows].map(([arrow, names]) => `  ${arrow}: ${names.join(", ")}`),
    ...taskStates.filter(isTerminal).map((state) => `  ${state} --> [*]: delete_expired`),
  ].join("\n");
}

/** Whom a task belongs to. */
const ownerIn: Readonly<Partial<Record<TaskState, string>>> = {
  queued: "owner: who is to run it, or nobody",
  running: "owner: who runs it",
};

/** Whom it belongs to after an event. */
const ownerAfter = { causer: "who causes it", nobody: "nobody", same: "the same" } as const;

function row(event: TaskEvent): string {
  const { from, to, by, underToken, owner, meaning } = transitions[event];
  const target = to === "same" ? "the same" : code(to);
  return `| ${code(event)} | ${list(from)} | ${target} | ${by} | ${underToken ? "yes" : "no"} | ${ownerAfter[owner]} | ${meaning} |`;
}

function list(states: readonly TaskState[], separator = ", "): string {
  return states.map(code).join(separator);
}

function code(name: string): string {
  return `\`${name}\``;
}

// Not where a test imports this.
if (import.meta.main) {
  await writeFile(new URL("../docs/state-machine.md", import.meta.url), await renderStateMachine());
}
