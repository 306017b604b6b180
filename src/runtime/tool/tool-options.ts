import type { TimeSpan } from "../../task/time.ts";
import type { Icon, ToolAnnotations } from "@modelcontextprotocol/server";
import {
  callback,
  choice,
  flag,
  isFunction,
  isObject,
  list,
  number,
  options,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import { backoffOptions, type Backoff } from "../clock.ts";
import type { LimitName } from "../limits/limit-name.ts";
import { isLimitName } from "../limits/limit-options.ts";
import { handlerModule, type HandlerModule } from "../threads/worker-options.ts";
import type { EventSchemas } from "./declared-events.ts";
import { isSchema, isShape } from "./schema.ts";

/** Whether calls of a tool become tasks. */
export type TaskMode =
  /** only as a task: callers without tasks get an error */
  | "required"
  /** as a task if the caller supports tasks, otherwise answered directly */
  | "optional"
  /** never as a task */
  | "forbidden";

/**
 * What happens to a task whose attempt was lost in a crash. `resume` runs it again with its journal, `fail` fails it. `auto` runs it again
 * if its handler had not started, if it had begun a step, a question or a wait, or if its tool is marked idempotent or read-only or has
 * `retry`. Otherwise it fails the task, because it is unknown how far the handler got.
 */
export type OnCrash = "auto" | "resume" | "fail";

/**
 * How clients without tasks are answered. `wait`: when the work is done. `ticket`: when the work is done, or after `plainDeadlineMs` with a
 * short reference that the model uses to fetch the result later.
 */
export type PlainPolicy = "wait" | "ticket";

/** Client capabilities that a tool's questions need. */
export type InputCapability = "elicitation" | "sampling" | "roots";

class DeclaredRetryPolicy {
  /** How often it runs in total, the first time included. Attempts that ended in a crash do not count. */
  readonly attempts: number = number({ min: 2, required: true });
  /** The pauses before it runs again. They continue across a restart of the server. */
  readonly backoff?: Backoff = options(backoffOptions);
  /** Whether it runs again after this error. Left out: after every error except those that always end the task. */
  readonly on?: (error: unknown) => boolean = callback();
}

/** When a handler that threw runs again, with its journal. */
export interface RetryPolicy extends DeclaredRetryPolicy {}

const retryPolicy = tableOf<RetryPolicy>(DeclaredRetryPolicy);

export class DeclaredDurableToolOptions {
  /** Client capabilities that the tool's questions need. Calls from clients without them are refused. */
  readonly requires?: readonly InputCapability[] = list(
    "some of `elicitation`, `sampling` and `roots`",
    (each) => each === "elicitation" || each === "sampling" || each === "roots",
  );
  /** Default `auto`. */
  readonly onCrash?: OnCrash = choice(["auto", "resume", "fail"], { default: "auto" });
  /**
   * Runs a handler that threw again, after a pause and with its journal: steps that succeeded do not run again, and failed steps do. Left
   * out, a throw ends the task. These always end the task: a `NonRetryableError`, a `ProtocolError`, a mistake that Holdfast reports to the
   * handler, a throw of `prepare`, a failed question or wait for an event (the failure is final), a cancel, and a result with `isError`
   * that the handler returned itself. A tool with `retry` cannot be `forbidden`, nor have `promoteAfterMs` or `onCrash: "fail"`. With `auto` it
   * also runs again after every crash.
   */
  readonly retry?: RetryPolicy = options(retryPolicy);
  /**
   * `false`: a handler that waits for an answer, an event or a sleep always stays in memory, and runs again as soon as a server starts.
   * Left out, it may be dropped from memory while everything in it waits; it then runs again with its journal when a wait ends. Set `false`
   * for handlers that do other work during a wait, outside of steps: a timer, a request, a listener of `signal`. Has no effect with
   * `onCrash: "fail"`, which never runs a handler again.
   */
  readonly park?: boolean = flag();
  /**
   * How long a call runs directly, in milliseconds, before it becomes a task. It becomes one earlier at its first step, question or wait.
   * Left out, every call of a client with tasks is a task from the start, and so is a call with an idempotency key. Has no effect in
   * protocol 2025-11-25, where the client chooses.
   */
  readonly promoteAfterMs?: TimeSpan = time({ min: 0, fractions: true });
  /**
   * A text for the model that clients of protocol 2025-11-25 get with the created task: what the model can say or do while the task runs.
   * Must not be empty.
   */
  readonly immediateResponse?: string = text("a non-empty string", (given) => given !== "", {});
  /** Overrides the server's `plain` for an optional tool. Default `wait` for one with an output schema, if neither is set. */
  readonly plain?: PlainPolicy = choice(["wait", "ticket"]);
  /** Overrides the server's `plainDeadlineMs`, in milliseconds. */
  readonly plainDeadlineMs?: TimeSpan = time({ min: 0 });
  /**
   * Whether a repeated call of the same caller without tasks joins the first one, until the first one's result has been delivered. Left
   * out, it joins if no caller waits for the first call any more, so that a lost call runs once; for a tool marked idempotent or read-only,
   * always. `true`: always. `false`: never.
   */
  readonly joinCalls?: boolean = flag();
  /**
   * `true`: a call never runs without a task, so that its questions are stored, and operators can answer them. Left out, a call without a task
   * runs directly if its client has used tasks before, of protocol 2025-11-25 or SEP-1686. Cannot be set with `forbidden` or `promoteAfterMs`.
   */
  readonly alwaysTask?: boolean = flag();
  /**
   * How many tasks of this tool run at the same time, across all processes that share the store; others wait for their turn. A task counts
   * from its start to its end, but not while it waits for an answer or a timer for more than a second. Left out, only the server's
   * `concurrency` applies. A tool with this option cannot be `forbidden`, nor have `promoteAfterMs`: runs without a task are not counted.
   */
  readonly concurrency?: number = number({ min: 1 });
  /**
   * A limit that `createTasks` declares in `limits`, or such a limit and a key: the handler begins once it has a permit, and gives it back
   * at its end, and when its task has waited for something for more than a second. Each time that it runs from the top counts as a start. A
   * tool with this option cannot be `forbidden`, nor have `promoteAfterMs`. Left out: none.
   */
  readonly limit?: LimitName = value(
    'the name of a limit, or a name and a key: ["openai", "eu"]',
    isLimitName,
  );
  /**
   * Tasks of a tool with a higher number always start first, however long tasks with a lower one wait. A whole number, which may be
   * negative. Default 0.
   */
  readonly priority?: number = number({ default: 0 });
  /** Overrides the server's `ttlMs`: the life of a task, its result included, in milliseconds from its creation. */
  readonly ttlMs?: TimeSpan | null = time({ min: 0, orNull: true });
  /** Overrides the server's `pollIntervalMs`. */
  readonly pollIntervalMs?: TimeSpan = time({ min: 0 });
  /** Overrides the server's `maxRunMs`. */
  readonly maxRunMs?: TimeSpan = time({ min: 1 });
  /**
   * How long a handler may work without a break, in milliseconds. The time starts with the handler, starts again after each wait, and stops
   * while everything in it waits for an answer, an event or a sleep. Time in which the store fails does not count. When it is over, the
   * signal aborts and the attempt ends with `attempt_timeout`, even if the handler continues. A handler that continues for another
   * `cancelGraceMs` counts as leaked, unless its tool is `forbidden`. Work outside of steps counts again when the handler runs again. Left
   * out: no limit.
   */
  readonly timeoutMs?: TimeSpan = time({ min: 1 });
  /**
   * The events that its tasks wait for, with the schemas of their values. An event of another name, or with another value, is refused where
   * it is sent. Left out, any event can be sent and waited for.
   *
   * ```ts
   * events: { approved: z.object({ by: z.string() }) },
   * ```
   */
  readonly events?: EventSchemas | undefined = value(
    "an object of schemas: { approved: z.object({ … }) }",
    isShape,
  );
  /** Overrides the server's `inputTimeoutMs`. */
  readonly inputTimeoutMs?: TimeSpan | null = time({ min: 0, orNull: true });
  /**
   * What becomes of a result of more than the server's `maxBodyBytes`. `link`: it is stored as an artifact, `result.txt` if it is a single
   * text, otherwise `result.json`, and the caller gets a link to it; not for a tool with an output schema, or one that never runs as a
   * task. `error`: the task fails with `too_large`. Default `error`.
   */
  readonly largeResults?: "error" | "link" = choice(["error", "link"], { default: "error" });
  /**
   * The version of the tool's code, a whole number from 1; default 1. Raise it when you change the handler in a way that running tasks must
   * not see. A task keeps the version that the tool has at its first start. It uses the handler in `olderVersions`, or else this one, which
   * can ask `task.version`. A process leaves tasks of a higher version to newer processes.
   */
  readonly version?: number = number({ min: 1, default: 1 });
}

const isText = (given: unknown): boolean => typeof given === "string";

class DeclaredToolOptions extends DeclaredDurableToolOptions {
  readonly title?: string = value("a string", isText);
  readonly description?: string = value("a string", isText);
  readonly annotations?: ToolAnnotations = value("an object of annotations", isObject);
  readonly icons?: Icon[] = value("a list of icons", Array.isArray);
  readonly _meta?: Record<string, unknown> = value("an object", isObject);
  /** Default `optional`. */
  readonly task?: TaskMode = choice(["optional", "required", "forbidden"], { default: "optional" });
}

/** Options of a tool that do not depend on its schemas. */
export interface ToolOptions extends DeclaredToolOptions {}

const schemaOrFields =
  "a Standard Schema, such as z.object({ … }) or fromJsonSchema({ … }) of the SDK, or its fields, such as { month: z.string() }";

/** What else a tool has, with types that depend on its schemas. */
class AllToolOptions extends DeclaredToolOptions {
  readonly inputSchema?: unknown = value(schemaOrFields, (given) => isSchema(given) || isShape(given));
  readonly outputSchema?: unknown = value(schemaOrFields, (given) => isSchema(given) || isShape(given));
  readonly prepare?: unknown = callback();
  readonly worker?: HandlerModule = options(handlerModule);
  readonly olderVersions?: unknown = value("an object: { 1: { inputSchema, handler } }", isObject);
}

export const toolOptions = tableOf(AllToolOptions);

class OlderVersionOptions {
  readonly inputSchema?: unknown = value("a Standard Schema, such as z.object({ … })", isSchema);
  readonly outputSchema?: unknown = value("a Standard Schema, such as z.object({ … })", isSchema);
  readonly prepare?: unknown = callback();
  readonly handler: unknown = value("a function", isFunction, { required: true });
}

export const olderVersion = tableOf(OlderVersionOptions);
