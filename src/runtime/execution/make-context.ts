import type {
  CallToolResult,
  CreateMessageResult,
  ElicitResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { InputMethod, JournalKey } from "../../task/journal.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { Progress } from "../../task/record.ts";
import type { LineList } from "../../task/task-line.ts";
import type { Run } from "../journal/run.ts";
import type { LineSource } from "../journal/task-lines.ts";
import type { Clock } from "../clock.ts";
import { assertEventName } from "../event-name.ts";
import { callAll, nameOf } from "./call-all.ts";
import { checkedChanges, checkedProgress, type HandlerChanges } from "./handler-updates.ts";
import { assertStepOptions, runStep } from "./step.ts";
import { logBody, outputBodies } from "./line-bodies.ts";
import { assertOutsideStep, lineSource, type StepEffects } from "./step-try.ts";
import { taskVersion } from "./task-version.ts";
import type {
  TaskCaller,
  AllOptions,
  CalledTool,
  CallResult,
  ToolCall,
  ToolReference,
  ToolResult,
  EventOptions,
  QuestionOptions,
  StepContext,
  StepOptions,
  TaskContext,
} from "../tool/task-context.ts";
import type { ReceivedRequest } from "../tool/received-request.ts";

/** Connects a context to its client and its record. */
export interface ContextEffects extends StepEffects {
  /** Asks a question and resolves with the answer's result object. */
  ask(key: JournalKey, method: InputMethod, params: object, options: QuestionOptions): Promise<unknown>;
  sleep(key: JournalKey, ms: number): Promise<void>;
  /** Calls a tool of the server by its name, and resolves with its result. */
  call(key: JournalKey, name: string, args: unknown): Promise<CallToolResult>;
  waitForEvent(key: JournalKey, name: string, options: EventOptions): Promise<unknown>;
  /** The promise need not be awaited. */
  update(changes: HandlerChanges): Promise<void>;
  progress(progress: Progress): void;
  /** As in `TaskLines`. */
  append(source: LineSource, list: LineList, at: number, body: string): Promise<void>;
}

const questionOptions: OptionNames<QuestionOptions> = { timeoutMs: true };
const eventOptions: OptionNames<EventOptions> = { timeoutMs: true };

type StepFn<T> = (step: StepContext) => T | Promise<T>;

/** What a handler gets from its call, besides the arguments. */
export interface CallContext {
  readonly caller: TaskCaller;
  readonly credentials: () => Promise<unknown>;
  readonly received?: ReceivedRequest | undefined;
}

/** The task context of one run of a handler; `prepared` is the raw JSON of what its tool's `prepare` returned. */
export function makeContext(
  run: Run,
  effects: ContextEffects,
  clock: Clock,
  { caller, credentials }: CallContext,
  prepared: string | null,
): TaskContext {
  const ask = <T>(
    key: JournalKey,
    method: InputMethod,
    params: object,
    options: QuestionOptions = {},
  ): Promise<T> =>
    handled(
      outside(key, () => {
        assertOptionNames("A question", options, questionOptions);
        return effects.ask(key, method, params, options) as Promise<T>;
      }),
    );
  const outside = async <T>(key: JournalKey, begin: () => Promise<T>): Promise<T> => {
    assertOutsideStep(run, key);
    return begin();
  };
  // No promise of its own for each call: a handler may make very many of them.
  const update = (changes: HandlerChanges): Promise<void> => {
    try {
      return effects.update(checkedChanges(changes, run.maxBodyBytes));
    } catch (error) {
      return handled(Promise.reject(error as Error));
    }
  };

  // Not an async function: what is wrong with a line is thrown where it is appended, also where nobody waits for that.
  const append = (list: LineList, bodies: readonly string[]): Promise<void> => {
    const source = lineSource(run);
    const appended = bodies.map((body) => effects.append(source, list, clock.now(), body));
    return handled(appended.at(-1) ?? Promise.resolve());
  };

  function step<T>(key: JournalKey, fn: StepFn<T>): Promise<T>;
  function step<T>(key: JournalKey, options: StepOptions, fn: StepFn<T>): Promise<T>;
  function step<T>(key: JournalKey, second: StepOptions | StepFn<T>, third?: StepFn<T>): Promise<T> {
    const [options, fn] = typeof second === "function" ? [{}, second] : [second, third];
    if (fn === undefined) throw new TypeError("task.step needs a function");
    assertStepOptions(options);
    return handled(runStep(run, effects, clock, key, options, fn));
  }

  function call<Args, Structured>(
    key: JournalKey,
    tool: ToolReference<Args, Structured>,
    args: NoInfer<Args>,
  ): Promise<ToolResult<Structured>>;
  function call(key: JournalKey, tool: string, args?: object): Promise<CallToolResult>;
  function call(key: JournalKey, tool: ToolReference | string, args?: unknown): Promise<CallToolResult> {
    return handled(outside(key, () => effects.call(key, nameOf(tool), args)));
  }

  function all<Tools extends readonly CalledTool[]>(
    key: JournalKey,
    calls: { readonly [Place in keyof Tools]: ToolCall<Tools[Place]> },
    options?: AllOptions,
  ): Promise<{ -readonly [Place in keyof Tools]: CallResult<Tools[Place]> }>;
  function all(key: JournalKey, calls: readonly ToolCall[], options: AllOptions = {}): Promise<unknown> {
    return handled(outside(key, () => callAll(key, calls, options, (...one) => effects.call(...one))));
  }

  return {
    prepared: prepared === null ? undefined : (JSON.parse(prepared) as unknown),
    caller,
    credentials: () => handled(credentials()),
    id: run.taskId,
    wireId: run.wireId,
    attempt: run.attempt,
    signal: run.signal,
    get cancelled() {
      return run.life.cancelRequested;
    },
    step,
    elicit: (key, params, options) =>
      ask<ElicitResult>(key, "elicitation/create", { mode: "form", ...params }, options),
    sample: (key, params, options) =>
      ask<CreateMessageResult>(key, "sampling/createMessage", params, options),
    roots: (key, options) => ask<ListRootsResult>(key, "roots/list", {}, options),
    call,
    all,
    version: (key, since) => handled(taskVersion(run, effects, clock, key, since)),
    waitForEvent: <T>(key: JournalKey, name: string, options: EventOptions = {}): Promise<T> =>
      handled(
        outside(key, () => {
          assertEventName(name);
          assertOptionNames("A wait for an event", options, eventOptions);
          return effects.waitForEvent(key, name, options) as Promise<T>;
        }),
      ),
    sleep: (key, ms) => handled(outside(key, () => effects.sleep(key, ms))),
    status: (statusMessage) => update({ statusMessage }),
    progress: (progress, total, message) =>
      effects.progress(
        checkedProgress(
          { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) },
          run.maxBodyBytes,
        ),
      ),
    log: (level, text, data) => append("log", [logBody(level, text, data)]),
    output: (content) => append("output", outputBodies(content)),
    extend: (ttlMs) => update({ ttlMs }),
    pollInterval: (pollIntervalMs) => update({ pollIntervalMs }),
  };
}

/**
 * A promise that a handler need not await. When an attempt loses its task, its open calls reject, and an unhandled rejection would end the
 * whole server.
 */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
