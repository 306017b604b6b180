import type { RefusalActivity } from "../../../../src/admin/activity.ts";
import type { HttpRefusal } from "../../../../src/runtime/events/server-event.ts";
import type { FaultCode } from "../../../../src/task/fault.ts";

export type RefusalGroupName = "rates" | "quotas" | "misses" | "access" | "mistakes" | "trouble" | "others";

/** In the order in which they are shown. */
export const refusalGroups: Readonly<
  Record<RefusalGroupName, { readonly title: string; readonly advice: string }>
> = {
  rates: {
    title: "Rates",
    advice:
      "A few are how clients are held back, and they try again later. If well-behaved callers meet them, raise the rate or add processes; if one caller makes most of them, look at what it does.",
  },
  quotas: {
    title: "Quotas",
    advice:
      "Something has as many as it may have: unfinished or kept tasks, open requests, streams or sessions. Look at the list for tasks that nobody needs any more, and raise the limit if all are needed.",
  },
  misses: {
    title: "Not found",
    advice:
      "Expected after tasks have been deleted or sessions have ended. Many of one caller are a client that keeps ids for too long, or somebody who guesses them.",
  },
  access: {
    title: "Not allowed in",
    advice:
      "A few are tokens that have run out. Many are a client with a wrong token, a changed key at the identity provider, a proxy with another host name, or somebody who tries tokens.",
  },
  mistakes: {
    title: "Mistakes of clients",
    advice:
      "The client has to change: the message of the event request.refused says what is wrong. After a new version, compare what it takes with what clients send.",
  },
  trouble: {
    title: "Trouble of the server",
    advice: "Look at the server's log and at its nodes and store: clients have done nothing wrong.",
  },
  others: {
    title: "Others",
    advice: "The events request.refused and the server's log say more.",
  },
};

type RefusalCode = FaultCode | HttpRefusal | "other";

const tooFast = "Too many requests in too little time.";
const tooMuch = "Too many tasks are unfinished or kept, or too much is open at once.";
const inHandler = "A fault of a tool's handler, which its caller was told.";
const store = "The store did not do what the request needed.";

/** The group of each code, and what it says. */
const codes: Readonly<Record<RefusalCode, readonly [group: RefusalGroupName, meaning: string]>> = {
  rate_limited: ["rates", tooFast],
  limit_reached: ["quotas", tooMuch],
  queue_full: ["quotas", "The queue of a task was full."],
  unknown_task: ["misses", "There is no such task, or it is not the caller's own."],
  not_found: ["misses", "Nothing is served there, there is no such method, or the session has ended."],
  no_result: ["misses", "The task has no result to give."],
  unauthorized: ["access", "There was no token, or one that is not accepted."],
  unauthenticated: ["access", "An operator's token was missing, or not accepted."],
  forbidden: ["access", "The token, host or origin is not allowed to do that."],
  insufficient_scope: ["access", "The token lacks scopes that are needed."],
  invalid_params: ["mistakes", "Parameters or arguments are not as the method or the tool takes them."],
  invalid_request: ["mistakes", "The request is none that is understood."],
  method_not_found: ["mistakes", "There is no such method."],
  idempotency_conflict: ["mistakes", "A key that was used before came with another request."],
  wire_id_taken: ["mistakes", "The client's own id for a task belongs to another one."],
  missing_capability: ["mistakes", "The client did not say that it can do what is needed."],
  too_large: ["mistakes", "The request is larger than the server takes."],
  finished: ["mistakes", "The task has ended, and that is possible only before."],
  unfinished: ["mistakes", "The task has not ended, and that is possible only then."],
  unavailable: ["trouble", "The server was stopping, had too many sessions, or its store did not answer."],
  internal: ["trouble", "Something failed that should not: the log has the error."],
  stopping: ["trouble", "The server was stopping."],
  stream_lost: ["trouble", "A connection broke, and its client did not come back for the answer."],
  store_failed: ["trouble", "The store does not answer, for now."],
  store_closed: ["trouble", "The store was closed."],
  store_lost: ["trouble", "Another process took this one for dead."],
  store_locked: ["trouble", store],
  store_unusable: ["trouble", store],
  store_url: ["trouble", store],
  task_unreadable: ["trouble", "What is stored of a task is damaged."],
  newer_version: ["trouble", "The task began under a newer version of its tool than the process has."],
  fenced: ["trouble", "An attempt that is over wanted to write."],
  node_too_old: ["trouble", "The process runs on a version of Node.js that is too old."],
  address_in_use: ["trouble", "The server's address is in use."],
  configuration: ["trouble", "The server is not set up for that."],
  duplicate_key: ["others", inHandler],
  nested_step: ["others", inHandler],
  not_json: ["others", inHandler],
  replay_mismatch: ["others", inHandler],
  step_timeout: ["others", inHandler],
  attempt_timeout: ["others", inHandler],
  input_timeout: ["others", inHandler],
  event_timeout: ["others", inHandler],
  outlives_task: ["others", inHandler],
  no_credentials: ["others", inHandler],
  no_request: ["others", inHandler],
  input_failed: ["others", inHandler],
  handler_leaked: ["others", inHandler],
  other: ["others", "There were too many kinds to count each of them."],
};

/** Nodes of another version may tell of codes that this one does not have. */
function known(code: string): readonly [group: RefusalGroupName, meaning: string] | undefined {
  return Object.hasOwn(codes, code) ? codes[code as RefusalCode] : undefined;
}

export function refusalGroupOf(code: string): RefusalGroupName {
  return known(code)?.[0] ?? "others";
}

/** What a refusal says; of a rate or a limit, its method says which ones it may have been. */
export function meaningOf(code: string, method: string | null): string {
  const ofMethod = method === null ? undefined : meanings[code]?.get(method);
  return ofMethod ?? known(code)?.[1] ?? "This page does not know it.";
}

const work = "Calls came too fast, or the process was too late with its work.";
const guesses = "A client asked too often for tasks that are not its own.";

const meanings: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  rate_limited: new Map([
    ["tools/call", work],
    ["resources/read", work],
    ["prompts/get", work],
    ["tasks/list", "Tasks were listed too often."],
    [
      "tasks/get",
      "A client asked for tasks more often than it was told to, or too often for tasks that are not its own.",
    ],
    ["tasks/result", guesses],
    ["tasks/update", guesses],
    ["tasks/cancel", guesses],
    ["tasks/delete", guesses],
    ["subscriptions/listen", guesses],
  ]),
  limit_reached: new Map([
    ["tools/call", "Too many tasks are unfinished or kept, or the caller has too many requests open."],
    ["subscriptions/listen", "A caller listens on too many streams."],
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

/** Groups in which something was refused, in their order. */
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
