import type { CreateMessageResult, ElicitResult, ListRootsResult } from "@modelcontextprotocol/server";
import type { InputMethod } from "../task/input.ts";
import type { JournalKey } from "../task/journal.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import type { Clock } from "./clock.ts";
import { runStep } from "./step.ts";
import type { StepContext, StepOptions, TaskContext } from "./task-context.ts";

/** How a context reaches its client and its record. */
export interface ContextEffects {
  /** Puts a question and resolves with the answer's result object. */
  ask(key: JournalKey, method: InputMethod, params: object): Promise<unknown>;
  status(message: string): Promise<void>;
}

type StepFn<T> = (step: StepContext) => T | Promise<T>;

/** The task context of one run of a handler. */
export function makeContext(journal: AttemptJournal, effects: ContextEffects, clock: Clock): TaskContext {
  const ask = <T>(key: JournalKey, method: InputMethod, params: object): Promise<T> =>
    handled(effects.ask(key, method, params) as Promise<T>);

  function step<T>(key: JournalKey, fn: StepFn<T>): Promise<T>;
  function step<T>(key: JournalKey, options: StepOptions, fn: StepFn<T>): Promise<T>;
  function step<T>(key: JournalKey, second: StepOptions | StepFn<T>, third?: StepFn<T>): Promise<T> {
    const [options, fn] = typeof second === "function" ? [{}, second] : [second, third];
    if (fn === undefined) throw new TypeError("task.step needs a function");
    return handled(runStep(journal, clock, key, options, fn));
  }

  return {
    id: journal.taskId,
    attempt: journal.attempt,
    signal: journal.signal,
    step,
    elicit: (key, params) => ask<ElicitResult>(key, "elicitation/create", { mode: "form", ...params }),
    sample: (key, params) => ask<CreateMessageResult>(key, "sampling/createMessage", params),
    roots: (key) => ask<ListRootsResult>(key, "roots/list", {}),
    status: (message) => handled(effects.status(message)),
  };
}

/**
 * A promise that a handler may leave alone: when an attempt loses its task, its open calls reject, and a rejection
 * that nobody handles would end the whole server.
 */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
