import {
  type CallToolResult,
  type CreateMessageResult,
  type ListRootsResult,
} from "@modelcontextprotocol/server";
import type { InputMethod, JournalKey } from "../../task/journal.ts";
import { assertOptions, readOptions, settingsOf } from "../../options/options.ts";
import type { LineList } from "../../task/task-line.ts";
import { runExec, type LogLine } from "../exec/exec.ts";
import { runThreadStep, type ThreadStepOptions } from "../threads/thread-step.ts";
import type { Run } from "../journal/run.ts";
import { askQuestion } from "../questions/questions.ts";
import { assertEventName, type EventWait } from "../tool/declared-events.ts";
import {
  checkedChanges,
  type GivenChanges,
  logBody,
  outputBodies,
  progressOf,
  statusOf,
} from "./handler-updates.ts";
import type { TimeSpan } from "../../task/time.ts";
import { elicit } from "../questions/form.ts";
import { decodeValue } from "../stored-values.ts";
import { runLoop, runPoll } from "./loop.ts";
import { neverBegan, readStepOptions, runStep, taskVersion } from "./step.ts";
import { storeArtifact } from "./store-artifact.ts";
import { assertOutsideStep, lineSource, notAwaited } from "./step-try.ts";
import type { Attempt } from "./attempt.ts";
import { Calls } from "./call-tool.ts";
import { waitForEvent } from "./wait-for-event.ts";
import { giveToHandler } from "../unhandled-rejections.ts";
import {
  eventOptions,
  questionOptions,
  type EventOptions,
  type QuestionOptions,
  type StepContext,
  type StepOptions,
  type TaskContext,
} from "../tool/task-context.ts";
import {
  allOptions,
  type AllOptions,
  type CalledTool,
  type CallRest,
  type CallResult,
  type PollOptions,
  type ToolCall,
} from "../tool/called-tool.ts";

type StepFn<T> = (step: StepContext) => T | Promise<T>;

/** The task context of one run of a handler; `prepared` is the raw JSON of what its tool's `prepare` returned. */
export function makeContext(attempt: Attempt, prepared: string | null): TaskContext {
  const { run, services } = attempt;
  const { caller, credentials } = attempt.call;
  const { clock } = services;
  const tools = new Calls(attempt);
  const handled = <T>(promise: Promise<T>): Promise<T> => {
    promise.catch((error: unknown) =>
      giveToHandler(error, { taskId: run.setup.taskId, onError: services.onError }),
    );
    return promise;
  };
  const ask = <T>(
    key: JournalKey,
    method: InputMethod,
    params: object,
    options: QuestionOptions = {},
  ): Promise<T> =>
    entry(key, () => {
      assertOptions("A question", options, questionOptions);
      const read = readOptions(questionOptions, options);
      return askQuestion(attempt, key, method, params, read) as Promise<T>;
    });
  /** What the handler does under a key. Rejects with `nested_step` inside a step. */
  const entry = <T>(key: JournalKey, begin: () => Promise<T>): Promise<T> => {
    try {
      assertOutsideStep(run, key);
      return handled(run.reaching(begin()));
    } catch (error) {
      return handled(run.reaching(Promise.reject(error as Error)));
    }
  };
  /** Of a call or a file; a wait that is left behind has lost nothing. */
  const notLeft = <T>(what: string, happened: string, call: Promise<T>): Promise<T> => {
    call.catch((error: unknown) => {
      if (run.life.gaveResult) services.onError(notAwaited(run, what, happened, error));
    });
    return call; // and no promise after it, which would settle later than its turn
  };
  const callTool = (key: JournalKey, name: string, args: unknown): Promise<CallToolResult> =>
    notLeft(`A call of tool "${name}"`, neverBegan, tools.call(key, name, args));
  /** What a report comes to that is not stored; undefined for others, and those of a step, which last as long as its end. */
  const unstored = (): Promise<void> | undefined => {
    const unstoredReport = lineSource(run) === run.lineSource ? run.unstored() : undefined;
    return unstoredReport && handled(unstoredReport);
  };
  // No promise of its own for each call: a handler may make very many of them.
  const update = (changes: GivenChanges): Promise<void> => {
    try {
      const checked = checkedChanges(changes);
      return unstored() ?? attempt.update(checked);
    } catch (error) {
      return handled(Promise.reject(error as Error));
    }
  };

  const { maxLogBytes, maxOutputBytes, maxStatusBytes } = run.setup.lines.limits;
  // Never throws: a handler also reports from listeners, where nobody would catch it.
  const append = async (list: LineList, bodies: readonly string[]): Promise<void> => {
    const source = lineSource(run);
    const appended = unstored() ?? bodies.map((body) => attempt.append(source, list, clock.now(), body));
    await (Array.isArray(appended) ? Promise.all(appended) : appended);
  };

  function step(
    key: JournalKey,
    second: StepOptions | ThreadStepOptions | StepFn<unknown>,
    third?: unknown,
  ): Promise<unknown> {
    if (isForThread(second)) {
      return entry(key, () => runThreadStep({ attempt, reports: context }, key, second, third));
    }
    const [options, fn] = typeof second === "function" ? [{}, second] : [second, third as StepFn<unknown>];
    if (typeof fn !== "function")
      throw new TypeError('task.step needs a key and a function: task.step("query", () => …).');
    if (fn === second && third !== undefined)
      throw new TypeError(
        'task.step takes its options before its function: task.step("query", { retries: 3 }, () => …).',
      );
    const read = readStepOptions(options);
    return entry(key, () => runStep(attempt, key, read, fn));
  }

  function all<Tools extends readonly CalledTool[]>(
    key: JournalKey,
    calls: { readonly [Place in keyof Tools]: ToolCall<Tools[Place]> },
    options?: AllOptions,
  ): Promise<{ -readonly [Place in keyof Tools]: CallResult<Tools[Place]> }>;
  function all(key: JournalKey, calls: readonly ToolCall[], options: AllOptions = {}): Promise<unknown> {
    return entry(key, () => callAll(key, calls, options, callTool));
  }

  const context: TaskContext = Object.assign(new Cancellation(run.life), {
    prepared: decodeValue(prepared),
    caller,
    credentials: () => handled(credentials()),
    id: run.setup.taskId,
    wireId: run.setup.wireId,
    attempt: run.setup.attempt,
    signal: run.signal,
    step,
    poll: <T>(key: JournalKey, options: PollOptions<T>, fn: StepFn<T>): Promise<never> =>
      entry(key, () => runPoll(attempt, key, options, fn) as Promise<never>),
    loop: (name, initial, round) => entry(name, () => runLoop(attempt, context, name, initial, round)),
    exec: (key, file, args = [], options = {}) => {
      const logLine: LogLine = (level, text, data) =>
        append("log", [logBody(level, text, data, maxLogBytes)]).catch(() => undefined);
      return entry(key, () => runExec({ attempt, logLine }, key, file, args, options));
    },
    elicit: (key, params, options) =>
      elicit(key, params, (wire) => ask(key, "elicitation/create", wire, options)),
    sample: (key, params, options) =>
      ask<CreateMessageResult>(key, "sampling/createMessage", params, options),
    roots: (key, options) => ask<ListRootsResult>(key, "roots/list", {}, options),
    call: <Called extends CalledTool>(key: JournalKey, tool: Called, ...[args]: CallRest<Called>) =>
      entry(key, () => callTool(key, nameOf(tool), args) as Promise<CallResult<Called>>),
    all,
    renamed: (names) => run.keys.rename(names),
    version: (key, since) => entry(key, () => taskVersion(attempt, key, since)),
    waitForEvent: (key: JournalKey, name: string, options: EventOptions = {}) => {
      const value = entry(key, () => {
        assertEventName(name);
        assertOptions("A wait for an event", options, eventOptions);
        return waitForEvent(attempt, key, name, readOptions(eventOptions, options)) as Promise<never>;
      });
      const url = (): string =>
        attempt.eventUrl({ taskId: run.setup.taskId, key: run.keys.stored(key), name });
      return withUrl(value, url) as EventWait<never>;
    },
    sleep: (key, time?: TimeSpan | Date) => {
      if (time !== undefined) return entry(key, () => attempt.sleep(key, time));
      const problem = 'task.sleep needs a key and a length of time, or a date: task.sleep("pause", "15m").';
      return handled(Promise.reject(new TypeError(problem)));
    },
    status: (text) => update({ statusMessage: statusOf(text, maxStatusBytes) }),
    progress: (progress, total, message) => {
      const report = progressOf(progress, total, message, maxStatusBytes);
      if (report === undefined) run.setup.lines.drop("progress");
      else if (unstored() === undefined) attempt.progress(report);
    },
    log: (level, text, data) => handled(append("log", [logBody(level, text, data, maxLogBytes)])),
    output: (content) => handled(append("output", outputBodies(content, maxOutputBytes))),
    artifact: (name, data, options = {}) =>
      entry(name, () => {
        const stored = storeArtifact(attempt, name, data, options);
        return notLeft(`Artifact "${name}"`, "was not stored: its handler had returned before", stored);
      }),
    extend: (ttl) => update({ ttlMs: ttl }),
    pollInterval: (interval) => update({ pollIntervalMs: interval }),
  } satisfies Omit<TaskContext, "cancelled">);
  return context;
}

/** With its getter on a prototype: that of a literal would keep each run in memory until the next major garbage collection. */
class Cancellation {
  readonly #life: Run["life"];

  constructor(life: Run["life"]) {
    this.#life = life;
  }

  get cancelled(): boolean {
    return this.#life.cancelRequested;
  }
}

const urls = new WeakMap<object, () => string>();

/** Has one getter for all waits, as that of `Cancellation`. */
const urlMember: PropertyDescriptor & ThisType<object> = {
  get() {
    return urls.get(this)?.();
  },
};

function withUrl<T extends object>(wait: T, url: () => string): T {
  urls.set(wait, url);
  return Object.defineProperty(wait, "url", urlMember);
}

function isForThread(given: unknown): given is ThreadStepOptions {
  return typeof given === "object" && given !== null && "worker" in given;
}

interface Call {
  readonly tool: CalledTool;
  readonly arguments: unknown;
}

/**
 * Makes the calls in order, a limited number at a time, and resolves with their results in that order. Rejects with the first failure;
 * after that no more begin. A call's key is the common key followed by its index, so the order in which they end does not matter.
 */
export async function callAll(
  key: JournalKey,
  calls: readonly Call[],
  options: AllOptions,
  callTool: (key: JournalKey, name: string, args: unknown) => Promise<CallToolResult>,
): Promise<CallToolResult[]> {
  assertAll(calls, options);
  const { concurrency } = settingsOf(allOptions, options);
  const parts = typeof key === "string" ? [key] : key;
  const results = new Map<number, CallToolResult>();
  const waiting = calls.entries(); // of which each worker takes the next
  let failed = false;
  const work = async (): Promise<void> => {
    for (const [place, { tool, arguments: args }] of waiting) {
      if (failed) return;
      try {
        results.set(place, await callTool([...parts, place], nameOf(tool), args));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, work));
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}

/** JavaScript callers can pass anything. */
export function nameOf(tool: unknown): string {
  if (typeof tool === "string") return tool;
  const name: unknown = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : undefined;
  if (typeof name === "string") return name;
  throw new TypeError("To call a tool, pass what tasks.tool() returned, or the tool's name.");
}

function assertAll(calls: unknown, options: AllOptions): void {
  if (!Array.isArray(calls) || !calls.every((call) => typeof call === "object" && call !== null))
    throw new TypeError("task.all takes a list of calls: [{ tool, arguments }, …].");
  assertOptions("task.all", options, allOptions);
}
