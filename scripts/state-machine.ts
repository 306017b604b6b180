// Makes docs/internals/state-machine.md from the transition table: npm run docs:state-machine
import { writeFile } from "node:fs/promises";
import { format } from "prettier";
import { isTerminal, taskStates, type TaskState } from "../src/task/outcome.ts";
import { nextState, transitions, type TaskEvent } from "../src/task/transition.ts";

const events = Object.keys(transitions) as TaskEvent[];

/** The page about the state machine, made from the transition table. */
export function renderStateMachine(): Promise<string> {
  const page = `<!-- Made from src/task/transition.ts by \`npm run docs:state-machine\`. Do not edit. -->

# The state machine of a task

Every change of a task is one of the events below, in one transaction that commits or says why not. No event
leaves ${list(taskStates.filter(isTerminal), " or ")}: the first settlement wins.

\`\`\`mermaid
${diagram()}
\`\`\`

| event | from | to | by | under token | owner | meaning |
| --- | --- | --- | --- | --- | --- | --- |
${events.map(row).join("\n")}

**Under token**: only the attempt (one run of the handler) that holds the task can cause the event. An attempt that lost
its task is refused.

**Owner**: a process that has the store open. A queued task belongs to the process that must run it while that process lives,
or to none: then any process may claim it. A running task belongs to the process that runs it. \`claim\` starts
several tasks at once: the claiming process's own, those without an owner, and those of dead owners.

**Parked**: a queued task that cannot be claimed yet. Its handler only waited (for answers, sleeps, events or other tasks) when
its attempt ended, and runs again when one of these waits ends or a cancel arrives. A task that crashed more than once pauses in the same way.

\`join\` and \`leave\` record where callers without task support wait for a task, and when it is cancelled after they left.
\`create\` inserts a task, and \`delete_expired\` removes expired finished ones. None of these is an event of the table. A
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

/** Which process owns a task. */
const ownerIn: Readonly<Partial<Record<TaskState, string>>> = {
  queued: "owner: the process that will run it, or none",
  running: "owner: the process that runs it",
};

/** Which process owns it after an event. */
const ownerAfter = { causer: "the claimer", nobody: "none", same: "the same" } as const;

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

// Not when a test imports this.
if (import.meta.main) {
  await writeFile(new URL("../docs/internals/state-machine.md", import.meta.url), await renderStateMachine());
}
