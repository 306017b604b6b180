import { defaultOptions } from "../runtime/options.ts";
import { assertOptions, numberRules } from "../runtime/resolve-options.ts";
import { defaultListenLimits } from "../server/listen/listen-slots.ts";
import { defaultRates, type RateOptions } from "../server/rates/rate-options.ts";
import type { TasksOptions } from "../server/tasks.ts";
import { readAll, type EnvReader } from "./env-reader.ts";
import { numberKind, orNone } from "./kind.ts";
import { optionVariables, readOptions, type NumberRow } from "./option-variables.ts";
import { rolesKind } from "./text-kinds.ts";
import { variable } from "./variable.ts";

/** One for each numeric option, so that none is forgotten. */
const runtimeRows: Readonly<Record<keyof typeof numberRules, NumberRow>> = {
  concurrency: ["number", "handlers that run at the same time; one that waits for an answer does not count"],
  keepMs: ["time", "how long a task is kept after it ends"],
  ttlMs: ["time", "how long a task lives from its creation; `none`: it is kept forever"],
  minTtlMs: ["time", "the shortest ttl that a client can request"],
  maxTtlMs: ["time", "the longest ttl that a client can request"],
  maxRunMs: ["time", "how long a task without ttl may take, including waits"],
  inputTimeoutMs: ["time", "how long a question waits for its answer; `none`: until its task ends"],
  pollIntervalMs: ["time", "how long clients should wait between polls"],
  cancelGraceMs: ["time", "how long a handler may keep running after a cancel"],
  stopDeadlineMs: ["time", "how long a stop waits for handlers"],
  maxLeakedHandlers: [
    "number",
    "handlers of one tool that outlive their tasks before the tool starts no more",
  ],
  maxParkedFrames: ["number", "waiting handlers that stay in memory"],
  expiredVisibleMs: ["time", "how long a task that expired unfinished is shown as failed"],
  maxUnfinishedPerPrincipal: ["number", "unfinished tasks of one principal"],
  maxUnfinished: ["number", "the same in total"],
  maxRetainedPerPrincipal: ["number", "stored tasks of one principal, finished ones included"],
  maxRetained: ["number", "the same in total"],
  maxInputsPerTask: ["number", "questions of one task"],
  maxEventsPerTask: ["number", "events queued for one task until its handler takes them"],
  maxJournalEntries: ["number", "steps, questions, sleeps, tool calls and waits of one task"],
  maxJournalBytes: ["size", "total size of their results, answers and events"],
  maxBodyBytes: ["size", "size of each: arguments, result, step result, question, answer, event"],
  maxNesting: ["number", "JSON nesting depth of a message"],
  maxNodes: ["number", "values in a message"],
  maxLogLines: ["number", "lines that the log of a task keeps"],
  maxLogBytes: ["size", "the same in bytes"],
  maxOutputBlocks: ["number", "content blocks in the output of a task"],
  maxOutputBytes: ["size", "the same in bytes"],
  maxDeliveries: ["number", "webhook messages pending in the store"],
  maxCrashes: ["number", "crashes in a row, without progress between them, before a task fails"],
  crashBackoffMs: ["time", "pause after the second crash in a row; it doubles"],
  maxCrashBackoffMs: ["time", "the longest such pause"],
  unregisteredGraceMs: ["time", "how long tasks wait for a tool that no process has"],
};

const rateRows: Readonly<Record<keyof RateOptions, NumberRow>> = {
  callsPerMinute: ["number", "`tools/call` of one principal"],
  listsPerMinute: ["number", "`tasks/list`, and `task_list`, of one principal"],
  missesPerMinute: ["number", "lookups of tasks that one principal does not have"],
  pollsPerInterval: ["number", "`tasks/get` of one task by one principal in its poll interval"],
  maxLoopDelayMs: ["time", "how late the event loop may be before new calls are refused"],
};

const listenRows: Readonly<Record<keyof typeof defaultListenLimits, NumberRow>> = {
  maxListensPerPrincipal: ["number", "open streams on which one principal listens to tasks"],
  maxIdsPerListen: ["number", "tasks, logs and outputs that one such stream may name"],
};

const rolesVariable = variable("roles", rolesKind, {
  meaning: "what this process does: `serve` takes requests, `work` runs handlers",
  default: defaultOptions.roles.join(","),
});

const runtimeVariables = optionVariables(runtimeRows, {
  kindOf: (option, unit) => {
    const kind = numberKind(unit, numberRules[option]);
    return numberRules[option].orNull ? orNone(kind) : kind;
  },
  defaults: defaultOptions,
});

const rateVariables = optionVariables(rateRows, {
  kindOf: (_, unit) => orNone(numberKind(unit, { min: 1 })),
  defaults: defaultRates,
});

const listenVariables = optionVariables(listenRows, {
  kindOf: (_, unit) => numberKind(unit, { min: 1 }),
  defaults: defaultListenLimits,
});

export const taskVariables = [rolesVariable, ...runtimeVariables, ...rateVariables, ...listenVariables];

/** The options of `createTasks` from an environment, except the store. */
export function readTasks(reader: EnvReader): Omit<TasksOptions, "store"> {
  const numbers = readOptions(reader, runtimeVariables);
  const rates = readOptions(reader, rateVariables);
  assertOptions(numbers); // ensured by each variable's kind
  return {
    ...readAll(reader, { roles: rolesVariable }),
    ...numbers,
    ...readOptions(reader, listenVariables),
    ...(Object.keys(rates).length > 0 && { rates }),
  };
}
