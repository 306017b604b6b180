import type { DeliveryEvent } from "../../task/delivery.ts";
import type { OutcomeKind } from "../../task/outcome.ts";
import type { GenerationName } from "../../task/generations.ts";
import type { FaultCode } from "../../task/fault.ts";

/**
 * What happened in this process, for logs, metrics and audits. No event has anything of what callers, handlers and users said: no arguments,
 * results, answers, step results, claims or credentials. Keys of steps and questions, texts of errors and names of principals are in it.
 */
export type ServerEvent = ServerEventData & {
  /** Epoch ms, by the server's clock. */
  readonly at: number;
};

export type ServerEventData = TaskLifeEvent | RefusalEvent | WebhookEvent | ProcessEvent;

/** What went wrong, as plain data; an error's own members, which may be anything, are not in it. */
export interface EventError {
  readonly name: string;
  readonly message: string;
  /** Where the error has one. */
  readonly code?: string | number;
  /** With those of its causes; only where the process has the error itself, and not what is stored of it. */
  readonly stack?: string;
}

/** Which task an event is of. */
export interface OfTask {
  readonly taskId: string;
  readonly tool: string;
  /** Who owns the task; null where callers are not told apart. */
  readonly principal: string | null;
  /** The wire form of the task; `child` for one that another task made. */
  readonly generation: GenerationName;
  /** The number of the attempt that holds or last held the task; 0 before the first. */
  readonly attempt: number;
  /** The task whose handler made it. */
  readonly parentId?: string;
}

interface OfEnd extends OfTask {
  /** Since the task was created. */
  readonly durationMs: number;
}

type TaskLifeEvent =
  | (OfTask & { readonly type: "task.created" })
  /** An attempt holds the task, and its handler runs. */
  | (OfTask & {
      readonly type: "task.started";
      /** Whether an earlier attempt began it. */
      readonly resumed: boolean;
      /** How long it has waited for its first attempt. */
      readonly queuedMs?: number;
      /** Attempts that were lost with their processes since the last progress. */
      readonly crashes: number;
    })
  /** A step has ended, or is to be tried again. A replayed step is told no second time. */
  | (OfTask & {
      readonly type: "task.step";
      readonly key: string;
      readonly outcome: "done" | "failed" | "retried";
      /** Since it was first tried in this attempt. */
      readonly durationMs?: number;
      readonly error?: EventError;
      /** Of one that is to be tried again: how often it has failed, and from when on it is tried (epoch ms). */
      readonly tries?: number;
      readonly until?: number;
    })
  | (OfTask & { readonly type: "task.question"; readonly key: string; readonly method: string })
  | (OfTask & { readonly type: "task.answered"; readonly keys: readonly string[] })
  /** The handler threw, and runs again from `until` (epoch ms) on. */
  | (OfTask & {
      readonly type: "task.retried";
      readonly failures: number;
      readonly until: number;
      readonly error: EventError;
    })
  /** The handler waits, and its memory was freed; null: until something comes. */
  | (OfTask & { readonly type: "task.parked"; readonly until: number | null })
  /** This process gave it back to be run by any other. */
  | (OfTask & { readonly type: "task.released" })
  | (OfEnd & {
      readonly type: "task.settled";
      readonly outcome: OutcomeKind;
      /** What the handler threw, or why the task failed without it. */
      readonly error?: EventError;
    })
  | (OfTask & { readonly type: "task.cancel_requested" })
  | (OfEnd & { readonly type: "task.cancelled" })
  /** Its time was over before it ended. */
  | (OfEnd & { readonly type: "task.expired" })
  /** Before its time, because somebody asked for that. */
  | (OfTask & { readonly type: "task.deleted" });

/** Why an HTTP request was refused before anything looked at its message. */
export type HttpRefusal =
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "too_large"
  | "limit_reached"
  | "rate_limited"
  | "unavailable"
  | "invalid_request";

interface RefusalEvent {
  readonly type: "request.refused";
  readonly code: FaultCode | HttpRefusal;
  /** The JSON-RPC method, as far as it is known. */
  readonly method?: string;
  /** Null where callers are not told apart, or nothing is known of this one. */
  readonly principal: string | null;
  /** What the caller was told. */
  readonly message?: string;
  /** Of a request that HTTP refused. */
  readonly status?: number;
}

/** A message of a webhook, about a task that now stands so. */
interface OfMessage {
  readonly webhook: string;
  readonly taskId: string;
  readonly status: DeliveryEvent;
  /** How often it was sent, or begun to be. */
  readonly tries: number;
}

type WebhookEvent =
  | (OfMessage & { readonly type: "webhook.delivered" })
  /** It is sent again at `until` (epoch ms). */
  | (OfMessage & { readonly type: "webhook.retried"; readonly problem: string; readonly until: number })
  /** It is not sent any more, and kept for operators until it is a week old. */
  | (OfMessage & { readonly type: "webhook.failed"; readonly problem: string })
  /** It answered that it is gone (410): this process sends it nothing until it is started again. */
  | { readonly type: "webhook.stopped"; readonly webhook: string }
  /** Messages that were too many, or older than a week, were deleted without having come to their webhooks. */
  | { readonly type: "webhook.dropped"; readonly deliveries: number };

type ProcessEvent =
  /** A handler goes on although its task has ended; `handlers`: so many of the tool do. */
  | {
      readonly type: "handler.leaked";
      readonly taskId: string;
      readonly tool: string;
      readonly handlers: number;
    }
  /** What is stored of the task is damaged; told once by each process. */
  | { readonly type: "task.unreadable"; readonly taskId: string; readonly error: EventError }
  /** Tasks of a process that is gone can run again. */
  | { readonly type: "owner.lost"; readonly owner: string; readonly tasks: number }
  /** The store does not tell this process of changes by others any more, which it polls for until `listener.regained`. */
  | { readonly type: "listener.lost" }
  | { readonly type: "listener.regained" }
  /** Others took this process for dead, and run its tasks. */
  | { readonly type: "store.lost" }
  /** It goes on with what they left it. */
  | { readonly type: "store.regained" };
