import type { BlockReason } from "../../task/blocked.ts";
import type { DeliveryEvent } from "../../task/delivery.ts";
import type { OutcomeKind } from "../../task/outcome.ts";
import type { GenerationName } from "../../task/record.ts";
import type { FaultCode } from "../../task/fault.ts";

/**
 * What happened in this process, for logs, metrics and audits. Events contain no data of callers, handlers or users: no arguments, results,
 * answers, step results, claims or credentials. They do contain keys of steps and questions, texts of errors and names of principals.
 */
export type ServerEvent = ServerEventData & {
  /** Epoch ms, by the server's clock. */
  readonly at: number;
};

export type ServerEventData = TaskLifeEvent | RefusalEvent | WebhookEvent | ProcessEvent;

/** An error as plain data. Other members of the error are left out, because they may be anything. */
export interface EventError {
  readonly name: string;
  readonly message: string;
  /** Left out if the error has none. */
  readonly code?: string | number;
  /** Includes the stacks of its causes. Left out if the process has only the stored form of the error. */
  readonly stack?: string;
}

/** The task that an event is about. */
export interface OfTask {
  readonly taskId: string;
  readonly tool: string;
  /** The owner of the task; null if callers are not told apart. */
  readonly principal: string | null;
  /** The wire form of the task; `child` if another task made it. */
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
  /** The task is stored. */
  | (OfTask & { readonly type: "task.created" })
  /** An attempt begins. `resumed`: after an earlier one. `queuedMs`: how long the first has waited. `crashes`: attempts lost with their processes. */
  | (OfTask & {
      readonly type: "task.started";
      /** Whether the task continues after an earlier attempt. */
      readonly resumed: boolean;
      /** How long the task waited for its first attempt. */
      readonly queuedMs?: number;
      /** Attempts lost with their processes since the last progress. */
      readonly crashes: number;
    })
  /** A step is `done`, has `failed`, or will be `retried` at `until`. A replayed step emits no second event. */
  | (OfTask & {
      readonly type: "task.step";
      readonly key: string;
      readonly outcome: "done" | "failed" | "retried";
      /** Since its first try in this attempt. */
      readonly durationMs?: number;
      readonly error?: EventError;
      /** If the step will be retried: how often it has failed, and when it is retried (epoch ms). */
      readonly tries?: number;
      readonly until?: number;
    })
  /** A question was asked. */
  | (OfTask & { readonly type: "task.question"; readonly key: string; readonly method: string })
  /** Questions were answered. */
  | (OfTask & { readonly type: "task.answered"; readonly keys: readonly string[] })
  /** The handler threw, and runs again at `until` (epoch ms). */
  | (OfTask & {
      readonly type: "task.retried";
      readonly failures: number;
      readonly until: number;
      readonly error: EventError;
    })
  /** The handler waits and its memory was freed; null: no time limit. */
  | (OfTask & { readonly type: "task.parked"; readonly until: number | null })
  /**
   * The code of this process cannot continue the task, or no process has its tool. It is tried again at `until` (epoch ms), and when a
   * process starts. Operators see the difference in the task.
   */
  | (OfTask & {
      readonly type: "task.blocked";
      readonly reason: BlockReason;
      /** The key in the journal under which the handler now does something else. */
      readonly key?: string;
      /** The version of the tool in the process that met the task. */
      readonly version?: number;
      readonly deploy?: string;
      /** How often it was tried, and since when it has been blocked (epoch ms). */
      readonly tries: number;
      readonly since: number;
      readonly until: number;
    })
  /** This process released the task, and any other can run it. */
  | (OfTask & { readonly type: "task.released" })
  /** The task ended: with a `result`, a result that reports a tool error (`error_result`) or an `error`. `error`: what the handler threw, or another reason. */
  | (OfEnd & {
      readonly type: "task.settled";
      readonly outcome: OutcomeKind;
      /** What the handler threw, or another reason why the task failed. */
      readonly error?: EventError;
    })
  /**
   * The handler ended without coming to keys of its journal, which code that was deployed since has lost or renamed. The task ended as it
   * does otherwise.
   */
  | (OfTask & {
      readonly type: "task.unreached";
      readonly count: number;
      /** The first 20, with the new key that stands in the place of one. */
      readonly keys: readonly { readonly key: string; readonly renamedTo?: string }[];
    })
  /** A cancel was requested. */
  | (OfTask & { readonly type: "task.cancel_requested" })
  /** The task's id did not reach its client: the task is cancelled at `until` (epoch ms), unless a request for it comes before. */
  | (OfTask & { readonly type: "task.abandoned"; readonly until: number })
  /** The task ended as cancelled. */
  | (OfEnd & { readonly type: "task.cancelled" })
  /** The task expired before it ended. */
  | (OfEnd & { readonly type: "task.expired" })
  /** The result of the task went to its requestor for the first time, by this method or polling tool. */
  | (OfTask & { readonly type: "task.retrieved"; readonly via: string })
  /** The task was deleted early, on request. */
  | (OfTask & { readonly type: "task.deleted" });

/** Why an HTTP request was refused before its message was read. */
export type HttpRefusal =
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "too_large"
  | "limit_reached"
  | "rate_limited"
  | "unavailable"
  | "invalid_request";

/** A request failed before it reached a task. `status`: if HTTP refused it. */
interface RefusalEvent {
  readonly type: "request.refused";
  readonly code: FaultCode | HttpRefusal;
  /** The JSON-RPC method, if known. */
  readonly method?: string;
  /** Null if callers are not told apart, or this one is unknown. */
  readonly principal: string | null;
  /** The message of the error that the caller got. */
  readonly message?: string;
  /** If HTTP refused the request. */
  readonly status?: number;
}

/** A webhook message about a task, with the status that it reports. */
interface OfMessage {
  readonly webhook: string;
  readonly taskId: string;
  readonly status: DeliveryEvent;
  /** How often sending it was tried. */
  readonly tries: number;
}

type WebhookEvent =
  /** The webhook accepted a message. */
  | (OfMessage & { readonly type: "webhook.delivered" })
  /** The webhook did not accept a message, because of `problem`; it is sent again at `until` (epoch ms). */
  | (OfMessage & { readonly type: "webhook.retried"; readonly problem: string; readonly until: number })
  /** Sending a message was given up after three days; it is kept for operators until it is a week old. */
  | (OfMessage & { readonly type: "webhook.failed"; readonly problem: string })
  /** The webhook answered 410 (gone): this process sends nothing more to it until it is restarted. */
  | { readonly type: "webhook.stopped"; readonly webhook: string }
  /** Undelivered messages were deleted because there were too many, or they were older than a week. */
  | { readonly type: "webhook.dropped"; readonly deliveries: number };

type ProcessEvent =
  /** A handler keeps running although its task has ended; `handlers`: the number of such handlers of the tool. */
  | {
      readonly type: "handler.leaked";
      readonly taskId: string;
      readonly tool: string;
      readonly handlers: number;
    }
  /** The stored data of the task is damaged. Each process emits it once. */
  | { readonly type: "task.unreadable"; readonly taskId: string; readonly error: EventError }
  /** Another process is gone, and its tasks run again. */
  | { readonly type: "owner.lost"; readonly owner: string; readonly tasks: number }
  /**
   * The event loop of this process did not answer for so long, and does again: nothing else of the process went on meanwhile. `tool`, `taskId`
   * and `step`: the code of an author that it was in; left out if it was in none. Not `isCertain`: what it had entered last.
   */
  | {
      readonly type: "loop.blocked";
      readonly durationMs: number;
      readonly tool?: string;
      readonly taskId?: string;
      /** The key of the step; left out in the handler itself. */
      readonly step?: string;
      readonly isCertain: boolean;
      /**
       * Where it was after twice `loopBlockedMs`. Left out for a shorter time, within a minute of the last one, in a call of the system, and where Node
       * has no debugger.
       */
      readonly stack?: string;
    }
  /** The store no longer notifies this process of others' changes, so it polls until `listener.regained`. */
  | { readonly type: "listener.lost" }
  /** The store notifies this process again. */
  | { readonly type: "listener.regained" }
  /**
   * This machine's clock and that of the database are more than five seconds apart. Tasks follow that of the database, which is this much
   * ahead (ms; negative: behind).
   */
  | { readonly type: "clock.off"; readonly offsetMs: number }
  /** The two clocks are close to each other again. */
  | { readonly type: "clock.right"; readonly offsetMs: number }
  /** Other processes considered this one dead, and run its tasks. */
  | { readonly type: "store.lost" }
  /** This process continues with the tasks that were left to it. */
  | { readonly type: "store.regained" };
