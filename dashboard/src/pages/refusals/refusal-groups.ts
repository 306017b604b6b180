import type { RefusalActivity } from "../../../../src/admin/activity.ts";
import type { HttpRefusal } from "../../../../src/runtime/events/server-event.ts";
import type { FaultCode } from "../../../../src/task/fault.ts";

export type RefusalGroupName = "rates" | "quotas" | "misses" | "access" | "mistakes" | "trouble" | "others";

/** In display order. */
export const refusalGroups: Readonly<
  Record<RefusalGroupName, { readonly title: string; readonly advice: string }>
> = {
  rates: {
    title: "Rate limits",
    advice:
      "A few are normal: clients slow down and try again. If well-behaved callers are refused, raise the rate or add processes. If most come from one caller, look at what it does.",
  },
  quotas: {
    title: "Quotas",
    advice:
      "A limit was reached: of unfinished or kept tasks, open requests, streams or sessions. Look in the task list for tasks that are no longer needed. If all are needed, raise the limit.",
  },
  misses: {
    title: "Not found",
    advice:
      "Expected after tasks are deleted or sessions end. Many from one caller point to a client that keeps IDs for too long, or to someone guessing them.",
  },
  access: {
    title: "Access denied",
    advice:
      "A few are expired tokens. Many point to a client with a wrong token, a changed key at the identity provider, a proxy with another host name, or someone guessing tokens.",
  },
  mistakes: {
    title: "Client errors",
    advice:
      "The client must be fixed. The message of the event request.refused says what is wrong. After a server upgrade, compare the arguments of its tools with what clients send.",
  },
  trouble: {
    title: "Server errors",
    advice: "Check the server's log, nodes and store. The clients are not at fault.",
  },
  others: {
    title: "Other",
    advice: "The event request.refused and the server's log have details.",
  },
};

type RefusalCode = FaultCode | HttpRefusal | "other";

const tooFast = "Too many requests in a short time.";
const tooMuch = "Too many unfinished or kept tasks, or too many open requests, streams or sessions.";
const inHandler = "An error in a tool's handler, reported to its caller.";
const store = "The store could not do what the request needed.";

/** The group of each code, and its meaning. */
const codes: Readonly<Record<RefusalCode, readonly [group: RefusalGroupName, meaning: string]>> = {
  rate_limited: ["rates", tooFast],
  limit_reached: ["quotas", tooMuch],
  queue_full: ["quotas", "A task's queue was full."],
  unknown_task: ["misses", "The task does not exist or belongs to another caller."],
  not_found: ["misses", "Unknown path or method, or a session that has ended."],
  no_result: ["misses", "The task has no result."],
  unauthorized: ["access", "The token was missing or not accepted."],
  unauthenticated: ["access", "An operator's token was missing or not accepted."],
  forbidden: ["access", "The token, host or origin is not allowed."],
  insufficient_scope: ["access", "The token lacks a required scope."],
  invalid_params: ["mistakes", "The parameters or arguments do not fit the method or tool."],
  invalid_request: ["mistakes", "The request is malformed."],
  method_not_found: ["mistakes", "There is no such method."],
  idempotency_conflict: ["mistakes", "An idempotency key was reused for a different request."],
  wire_id_taken: ["mistakes", "The client's ID for a task is already in use."],
  missing_capability: ["mistakes", "The client does not declare a required capability."],
  too_large: ["mistakes", "The request is too large."],
  finished: ["mistakes", "The task has already ended."],
  unfinished: ["mistakes", "The task has not ended yet."],
  unavailable: ["trouble", "The server was stopping, had too many sessions, or its store did not answer."],
  internal: ["trouble", "An unexpected error: see the log."],
  stopping: ["trouble", "The server was stopping."],
  stream_lost: ["trouble", "The connection broke, and the client did not return for the answer."],
  store_failed: ["trouble", "The store did not answer."],
  store_refused: ["trouble", "The store cannot take a value of the request."],
  store_closed: ["trouble", "The store was closed."],
  store_lost: ["trouble", "Another process considered this one dead and took over its tasks."],
  store_locked: ["trouble", store],
  store_unusable: ["trouble", store],
  store_url: ["trouble", store],
  task_unreadable: ["trouble", "The stored data of a task is damaged."],
  newer_version: ["trouble", "The task was started by a newer version of its tool."],
  fenced: ["trouble", "An attempt that had lost its task tried to write."],
  node_too_old: ["trouble", "The version of Node.js is too old."],
  address_in_use: ["trouble", "The server's address is in use."],
  configuration: ["trouble", "The server is not configured for this."],
  duplicate_key: ["others", inHandler],
  nested_step: ["others", inHandler],
  not_json: ["others", inHandler],
  replay_mismatch: ["others", inHandler],
  step_timeout: ["others", inHandler],
  worker_crashed: ["others", inHandler],
  step_not_awaited: ["others", inHandler],
  attempt_timeout: ["others", inHandler],
  input_timeout: ["others", inHandler],
  event_timeout: ["others", inHandler],
  poll_timeout: ["others", inHandler],
  outlives_task: ["others", inHandler],
  no_credentials: ["others", inHandler],
  no_request: ["others", inHandler],
  input_failed: ["others", inHandler],
  handler_leaked: ["others", inHandler],
  other: ["others", "Too many kinds to count separately."],
};

/** Nodes of another version may report codes that this one does not have. */
function known(code: string): readonly [group: RefusalGroupName, meaning: string] | undefined {
  return Object.hasOwn(codes, code) ? codes[code as RefusalCode] : undefined;
}

export function refusalGroupOf(code: string): RefusalGroupName {
  return known(code)?.[0] ?? "others";
}

/** The meaning of a refusal. For a rate or a limit, the method shows which ones it may have been. */
export function meaningOf(code: string, method: string | null): string {
  const ofMethod = method === null ? undefined : meanings[code]?.get(method);
  return ofMethod ?? known(code)?.[1] ?? "This version of the dashboard does not know this code.";
}

const work = "Calls came too fast, or the process was overloaded.";
const guesses = "A client asked too often for tasks that do not belong to it.";

const meanings: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  rate_limited: new Map([
    ["tools/call", work],
    ["resources/read", work],
    ["prompts/get", work],
    ["tasks/list", "A client listed tasks too often."],
    [
      "tasks/get",
      "A client polled more often than the server allows, or asked too often for tasks that do not belong to it.",
    ],
    ["tasks/result", guesses],
    ["tasks/update", guesses],
    ["tasks/cancel", guesses],
    ["tasks/delete", guesses],
    ["subscriptions/listen", guesses],
  ]),
  limit_reached: new Map([
    ["tools/call", "Too many unfinished or kept tasks, or the caller has too many open requests."],
    ["subscriptions/listen", "A caller has too many open streams."],
    ["resources/subscribe", "A client follows too many logs and outputs."],
  ]),
};

export interface RefusalGroup {
  readonly name: RefusalGroupName;
  readonly count: number;
  readonly byMinute: readonly number[];
  /** The most frequent first. */
  readonly refusals: readonly RefusalActivity[];
}

/** Groups with refusals, in their order. */
export function grouped(refusals: readonly RefusalActivity[], minutes: number): readonly RefusalGroup[] {
  const names = Object.keys(refusalGroups) as readonly RefusalGroupName[];
  return names.flatMap((name) => {
    const own = refusals.filter(({ code }) => refusalGroupOf(code) === name);
    if (own.length === 0) return [];
    return [
      {
        name,
        count: own.reduce((sum, { count }) => sum + count, 0),
        byMinute: Array.from({ length: minutes }, (_, minute) =>
          own.reduce((sum, { byMinute }) => sum + (byMinute[minute] ?? 0), 0),
        ),
        refusals: [...own].sort((a, b) => b.count - a.count),
      },
    ];
  });
}
