import type { TaskState } from "./outcome.ts";

/** What can cause an event. Each kind of writer is guarded differently. */
type TaskActor = "requestor" | "server" | "attempt" | "child" | "dispatch" | "recovery" | "sweeper";

interface Transition {
  /** States in which the event is accepted. In other states the write is refused. */
  readonly from: readonly TaskState[];
  /** The state afterwards; `"same"` keeps it. */
  readonly to: TaskState | "same";
  readonly by: TaskActor;
  /** True if the write needs the token of the attempt that holds the task. */
  readonly underToken: boolean;
  /** The owner of the task afterwards: the process that causes the event, none, or the same as before. */
  readonly owner: "causer" | "nobody" | "same";
  readonly meaning: string;
}

const unfinished = ["queued", "running"] as const;

/**
 * The state machine of a task, as data. `decide` applies it inside the stores' transactions, and the page about the state machine is
 * generated from it. Deleting a task, or its idempotency key, is no event: it only requires that the task has ended. A caller that starts
 * or stops waiting for the task is no event either.
 */
export const transitions = {
  start: {
    from: ["queued"],
    to: "running",
    by: "dispatch",
    underToken: false,
    owner: "causer",
    meaning: "a process claims the task: an attempt holds it under a fresh token",
  },
  release: {
    from: ["running"],
    to: "queued",
    by: "attempt",
    underToken: true,
    owner: "nobody",
    meaning: "an orderly stop gives the task back; one whose handler waits is parked",
  },
  retry: {
    from: ["running"],
    to: "queued",
    by: "attempt",
    underToken: true,
    owner: "nobody",
    meaning: "the handler threw, and will run again after a pause",
  },
  block: {
    from: ["running"],
    to: "queued",
    by: "attempt",
    underToken: true,
    owner: "nobody",
    meaning: "this code cannot continue the task: it waits for code that can, and keeps what comes for it",
  },
  orphan: {
    from: ["queued"],
    to: "same",
    by: "recovery",
    underToken: false,
    owner: "same",
    meaning: "no process has the tool of the task: it is blocked until one has",
  },
  unblock: {
    from: ["queued"],
    to: "same",
    by: "recovery",
    underToken: false,
    owner: "same",
    meaning:
      "a blocked task is tried again: a process has started or got its tool, or an operator asked for it",
  },
  reclaim: {
    from: ["running"],
    to: "queued",
    by: "recovery",
    underToken: false,
    owner: "nobody",
    meaning: "the process that ran the attempt is gone; a task whose handler waited is parked",
  },
  park: {
    from: ["running"],
    to: "queued",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning:
      "the handler waits and is dropped from memory: the task runs again when a wait ends or a cancel arrives",
  },
  wake: {
    from: ["queued"],
    to: "same",
    by: "sweeper",
    underToken: false,
    owner: "same",
    meaning:
      "a deadline of a parked task has passed, or its pause after a crash or failure is over: it can be claimed",
  },
  mark: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning:
      "the attempt is about to begin its first journalled call, or its handler comes to rest or resumes work",
  },
  record_step: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning:
      "a step's result or final error, a stored artifact, or what `prepare` returned, enters the journal",
  },
  write_piece: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a piece of an artifact is stored; the first one enters the journal",
  },
  retry_step: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning:
      "a step failed and will be retried, or looks again at what is not ready yet, at a time that enters the journal",
  },
  begin_step: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a step has begun something that lives on without its attempt, which enters the journal",
  },
  next_round: {
    from: ["running"],
    to: "queued",
    by: "attempt",
    underToken: true,
    owner: "nobody",
    meaning:
      "a round of a loop has ended: its entries go, the state of the next round enters the journal, and the handler runs again",
  },
  open_input: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a question to the client enters the journal",
  },
  close_wait: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a question, or a wait for an event, ends at its deadline",
  },
  call_tool: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning:
      "the handler calls another tool: a task of that tool is created, and the call enters the journal",
  },
  end_call: {
    from: unfinished,
    to: "same",
    by: "child",
    underToken: false,
    owner: "same",
    meaning: "a task that this one called ended",
  },
  count_inputs: {
    from: unfinished,
    to: "same",
    by: "child",
    underToken: false,
    owner: "same",
    meaning: "a task below this one asked a question, or its question ended",
  },
  wait_event: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a wait for an event enters the journal",
  },
  send_event: {
    from: unfinished,
    to: "same",
    by: "server",
    underToken: false,
    owner: "same",
    meaning: "an event arrives, for a current or later wait",
  },
  sleep: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a sleep and its end time enter the journal",
  },
  end_sleep: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "a sleep ended",
  },
  answer_inputs: {
    from: unfinished,
    to: "same",
    by: "requestor",
    underToken: false,
    owner: "same",
    meaning: "answers to open questions enter the journal",
  },
  update: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "the handler changes status text, poll interval, expiry or progress",
  },
  append: {
    from: ["running"],
    to: "same",
    by: "attempt",
    underToken: true,
    owner: "same",
    meaning: "the handler appends to the log or the output of the task",
  },
  settle: {
    from: ["running"],
    to: "settled",
    by: "attempt",
    underToken: true,
    owner: "nobody",
    meaning: "the handler ended; its outcome is final",
  },
  fail: {
    from: ["queued"],
    to: "settled",
    by: "recovery",
    underToken: false,
    owner: "nobody",
    meaning: "the task cannot run (again) and fails",
  },
  expire: {
    from: unfinished,
    to: "settled",
    by: "sweeper",
    underToken: false,
    owner: "nobody",
    meaning: "the task expired before it ended",
  },
  request_cancel: {
    from: unfinished,
    to: "same",
    by: "requestor",
    underToken: false,
    owner: "same",
    meaning: "the requestor asked to cancel; the request is durable, and the handler is notified",
  },
  cancel: {
    from: unfinished,
    to: "cancelled",
    by: "dispatch",
    underToken: false,
    owner: "nobody",
    meaning: "the cancellation takes effect",
  },
} as const satisfies Record<string, Transition>;

/** An event of the state machine of tasks. */
export type TaskEvent = keyof typeof transitions;

/** The state after `event`, or undefined if the table refuses it. */
export function nextState(state: TaskState, event: TaskEvent): TaskState | undefined {
  const transition: Transition = transitions[event];
  if (!transition.from.includes(state)) return undefined;
  return transition.to === "same" ? state : transition.to;
}
