import type { TimeSpan } from "../task/time.ts";
import { maxTaskIds } from "../generation/2026-07-28-listen.ts";
import {
  callback,
  choice,
  flag,
  isObject,
  number,
  options,
  type Settings,
  tableOf,
  text,
  time,
  value,
} from "../options/options.ts";
import { areBlobs } from "../runtime/blobs/artifact-blobs.ts";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import { DeclaredRuntimeOptions } from "../runtime/options.ts";
import type { ServerTelemetry } from "../runtime/telemetry/telemetry.ts";
import type { PlainPolicy } from "../runtime/tool/tool-options.ts";
import type { WebhookOptions } from "../runtime/webhooks/webhook-options.ts";
import type { Blobs } from "../store/blobs.ts";
import type { TaskStore } from "../store/store.ts";
import { rateOptions, type RateOptions } from "./limits.ts";
import { areHostTimeouts, type HostTimeouts } from "./plain/patience.ts";

const isToolName = (name: string): boolean => /^[\w.-]{1,128}$/.test(name) && !(name in {});
const toolName = "a name of 1 to 128 letters, digits and `_.-`";

class DeclaredPollingToolOptions {
  /** The tool that fetches a result. Without a tool for `answer`, it takes answers too. Default `task_result`. */
  readonly result?: string = text(toolName, isToolName, { default: "task_result" });
  /** The tool that cancels a call. Default `task_cancel`. */
  readonly cancel?: string = text(toolName, isToolName, { default: "task_cancel" });
  /** A tool that answers a question. Default: none. */
  readonly answer?: string = text(toolName, isToolName, {});
  /** A tool that lists calls. Default: none. */
  readonly list?: string = text(toolName, isToolName, {});
}

/** Names of the polling tools, which a model uses after a ticket. */
export interface PollingToolOptions extends DeclaredPollingToolOptions {}

export const pollingToolOptions = tableOf<PollingToolOptions>(DeclaredPollingToolOptions);

class DeclaredTasksOptions extends DeclaredRuntimeOptions {
  /** Where tasks are stored: `sqliteStore("tasks.db")`, or `memoryStore()` for tasks that end with the process. */
  readonly store: TaskStore = value(
    'a store, such as sqliteStore("tasks.db")',
    (given) => isObject(given) && "open" in (given as object),
    { required: true, secret: true }, // may be a URL by mistake, which may have a password
  );
  /**
   * Where the bytes of artifacts (`task.artifact`) are kept, such as `folderBlobs("files")`, or functions on a bucket. They are encrypted, and their keys
   * are in the store. All processes on the store need the same. Default: in the store.
   */
  readonly blobs?: Blobs = value('blobs, such as folderBlobs("files")', areBlobs);
  /** Called with errors that no caller is told about. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void = callback();
  /**
   * Called with each event of this process (of its tasks, requests and store) after the change is committed. Nothing waits for it, and if
   * it throws, the error goes to `onError`. `pinoEvents` of `holdfast/pino` writes events to a log. Default: none, at no cost.
   */
  readonly onEvent?: (event: ServerEvent) => unknown = callback();
  /**
   * How long the event loop of this process may not answer before an event (`loop.blocked`) and a metric say so, with the tool and the step that
   * block it. So does a line on stderr, unless it is rather the machine that holds the process up. A thread of its own watches. `null`: nobody
   * does. Default 1 second.
   */
  readonly loopBlockedMs?: TimeSpan | null = time({
    min: 50,
    orNull: true,
    default: 1_000,
    variable: "HOLDFAST_LOOP_BLOCKED",
  });
  /**
   * What becomes of a process whose event loop has not answered for `blockedExitMs`. `exit`: it ends like a crash, and others go on with its tasks, of
   * which the one that blocked it fails after `maxCrashes`. Not for a process that a debugger stops. Default `report`.
   */
  readonly onBlocked?: "report" | "exit" = choice(["report", "exit"], {
    default: "report",
    variable: "HOLDFAST_ON_BLOCKED",
  });
  /** After how long that is. Default 1 minute. */
  readonly blockedExitMs?: TimeSpan = time({
    min: 1_000,
    default: 60_000,
    variable: "HOLDFAST_BLOCKED_EXIT",
  });
  /**
   * A port on which the watching thread answers `GET /healthz`, also while the event loop is blocked: 200, or 503 once that was for
   * `loopBlockedMs`, with `blockedMs` in JSON. Default: none.
   */
  readonly healthPort?: number = number({ min: 1, max: 65_535, variable: "HOLDFAST_HEALTH_PORT" });
  /** The address of that port; `0.0.0.0` for one that a container's host can reach. Default `127.0.0.1`. */
  readonly healthHost?: string = text("an address", (given) => given !== "", {
    default: "127.0.0.1",
    variable: "HOLDFAST_HEALTH_HOST",
  });
  /** Traces and measures this process: `openTelemetry()` of `holdfast/opentelemetry`. Default: none, at no cost. */
  readonly telemetry?: ServerTelemetry = value(
    "what openTelemetry() returns",
    (given) => isObject(given) && isObject((given as Partial<ServerTelemetry>).metrics),
  );
  /** Answers a call that lacks a capability with -32003, as in early drafts, instead of -32021. Default `false`. */
  readonly legacyErrorCodes?: boolean = flag({ default: false });
  /**
   * In protocol 2025-11-25, refuses calls that could ask for a task but do not, with -32600. Clients without tasks then cannot call such
   * tools. Default `false`.
   */
  readonly requireTasks?: boolean = flag({ default: false });
  /**
   * In protocol 2026-07-28, also lists `required` tools to clients without tasks, which cannot call them. Earlier revisions always list all
   * tools, because the list says which tools take tasks. Default `false`.
   */
  readonly listRequiredTools?: boolean = flag({ default: false });
  /**
   * How the server answers clients without tasks when they call an optional tool. `wait`: when the work is done. `ticket`: when the work is
   * done, or after `plainDeadlineMs` with a reference that the model uses to fetch the result later. A tool can override it. Default:
   * `ticket`, or `wait` for tools with an output schema.
   */
  readonly plain?: PlainPolicy = choice(["wait", "ticket"]);
  /**
   * How long such a call waits before it gets a ticket, whatever its host. A tool can override it. Default: three quarters of what the host
   * is known to wait, or 45 seconds; less in a session whose client gave up earlier.
   */
  readonly plainDeadlineMs?: TimeSpan = time({ min: 0 });
  /**
   * How long hosts wait for a call, by the names in their `clientInfo`: of hosts that this package does not know, or that are set otherwise,
   * such as `{ "my-host": "5m" }`. It has no effect with `plainDeadlineMs`.
   */
  readonly hostTimeoutsMs?: HostTimeouts = value(
    "an object of lengths of time by the names of hosts",
    areHostTimeouts,
  );
  /**
   * How long the task of such a call continues after its client timed out, so that a repeated call finds it. Then the task is cancelled. 0
   * cancels it at once. Default 10 minutes.
   */
  readonly plainGraceMs?: TimeSpan = time({ min: 0, default: 600_000 });
  /**
   * Names of the tools with which a model uses a ticket. Those for `answer` and `list` exist only if you name them. Default: `task_result`
   * and `task_cancel`.
   */
  readonly pollingTools?: PollingToolOptions = options(pollingToolOptions);
  /** Rate limits of one principal. Limits that you leave out keep their defaults. */
  readonly rates?: RateOptions = options(rateOptions);
  /** Streams on which one principal may listen to tasks at the same time. Default 100. */
  readonly maxListensPerPrincipal?: number = number({
    min: 1,
    default: 100,
    variable: "HOLDFAST_MAX_LISTENS_PER_PRINCIPAL",
  });
  /** Maximum number of tasks, logs and outputs that one such stream may name. Default 1,000. */
  readonly maxIdsPerListen?: number = number({
    min: 1,
    default: maxTaskIds,
    variable: "HOLDFAST_MAX_IDS_PER_LISTEN",
  });
  /**
   * Services to notify when a task is created, changes its status, or is deleted early. Messages contain no arguments, results or texts.
   * Each is stored with the change and retried for up to three days. Default: none, at no cost.
   */
  readonly webhooks?: readonly WebhookOptions[] = value("a list of webhooks", Array.isArray, {
    secret: true, // may be a URL by mistake, which may be secret
  });
}

/** Options of `createTasks`. All but `store` have defaults. */
export interface TasksOptions extends DeclaredTasksOptions {}

export const tasksOptions = tableOf<TasksOptions>(DeclaredTasksOptions);

/** Those without a default. */
export type Unset =
  | "ttlMs"
  | "healthPort"
  | "plain"
  | "plainDeadlineMs"
  | "hostTimeoutsMs"
  | "pollingTools"
  | "rates"
  | "onError"
  | "onEvent"
  | "telemetry"
  | "webhooks"
  | "blobs";

/** Those that are no objects of others, with their defaults. */
export type TaskSettings = Omit<
  Settings<TasksOptions, Unset>,
  "store" | "onError" | "onEvent" | "telemetry" | "webhooks" | "blobs"
>;
