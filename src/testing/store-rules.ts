/**
 * The rules of the store's interface that the contract holds a store to, by the areas of its cases. Invariants:
 * - `says` is a sentence of the interface's own comments, to the letter, and `of` the member that it is about.
 * - The cases of a rule with a `part` use no other optional part of the store.
 */

/** An optional part of a store. */
export type StorePart =
  "admin" | "limits" | "logs" | "messages" | "outbox" | "pieces" | "reports" | "sessions";

export interface StoreRule {
  readonly of: string;
  readonly says: string;
  readonly part?: StorePart;
}

export const storeRules = {
  admin: {
    of: "AdminStore",
    says: "The reads for operators.",
    part: "admin",
  },
  attempts: {
    of: "TaskRecord.attempts",
    says: "Its first attempt and its last ones, in order.",
  },
  begun: {
    of: "TaskCommands.record_step.begunAt",
    says: "When its function was first called (epoch ms).",
  },
  blocked: {
    of: "TaskStore.queued",
    says: "The ids of queued tasks for a handler, blocked ones or all others, in order.",
  },
  callers: {
    of: "TaskCommands.join",
    says: "A caller without task support, at this owner, now waits for the task, which is then not cancelled because earlier callers left.",
  },
  calls: {
    of: "TaskCommands.call_tool",
    says: "Creates a task for a tool that the handler calls, queued for any owner.",
  },
  "cancels of calls": {
    of: "TaskCommands.call_tool.cancelGraceMs",
    says: "How long the handler of that task may continue once this one has ended or is to be cancelled (ms).",
  },
  changes: {
    of: "TaskStore.subscribe",
    says: "Calls `listener` after each commit of this owner, before the writes of that commit resolve, and soon after the commits of others.",
  },
  claim: {
    of: "TaskCommands.claim",
    says: "Starts claimable queued tasks, one under each token, by priorities of `handlers`, and by turns of principals and lanes (`store/fair-order.ts`).",
  },
  create: {
    of: "TaskCommands.create",
    says: "Inserts a task.",
  },
  delete: {
    of: "TaskCommands.delete",
    says: "Deletes a finished task, and everything that belongs to it, early.",
  },
  events: {
    of: "TaskCommands.send_event",
    says: "Ends the oldest wait for an event of this name, or keeps the event for a later wait.",
  },
  handlers: {
    of: "TaskStore.setHandlers",
    says: "Replaces the list of handlers that the owner has; others are notified of a gap.",
  },
  "handlers of several": {
    of: "TaskStore.setHandlers",
    says: "Tasks queued for this owner that it no longer has a handler for can be claimed by owners that have one.",
  },
  journal: {
    of: "TaskStore.journal",
    says: "A page of a task's journal, in the store's own order: at most `limit` entries.",
  },
  life: {
    of: "TaskStore.close",
    says: "Later calls reject with `store_closed`.",
  },
  limit: {
    of: "TaskCommands.start.limited",
    says: "`limited`: the task counts toward its handler's limit while it runs.",
  },
  limits: {
    of: "LimitStore.call",
    says: "Applies all that a process has to do with one limit, and gives permits to whoever waits, in any process.",
    part: "limits",
  },
  lines: {
    of: "TaskLogs.read",
    says: "Lines of a task's list with numbers above `after`, in order, at most `limit`; none if the task does not exist.",
    part: "logs",
  },
  pieces: {
    of: "ArtifactPieces.read",
    says: "A piece in base64 of the artifact under this key of the journal; undefined if there is none.",
    part: "pieces",
  },
  list: {
    of: "TaskStore.list",
    says: "A page of an owner's tasks, newest first: at most `limit` with ids below `before` (`null`: from the newest).",
  },
  messages: {
    of: "MessageQueues",
    says: "An optional part of a store: a queue of messages for each task, which servers on SDK v1 need.",
    part: "messages",
  },
  order: {
    of: "TaskStore",
    says: "Reads show every change that was acknowledged before.",
  },
  outbox: {
    of: "Outbox",
    says: "Commands write them together with the changes that they report.",
    part: "outbox",
  },
  owners: {
    of: "TaskStore",
    says: "Where tasks are stored, by one or several processes at a time: each is an owner.",
  },
  "questions below": {
    of: "TaskStore.snapshot",
    says: "A task with its open inputs and its outcome, or undefined.",
  },
  quota: {
    of: "TaskCommands.create.quota",
    says: "If the task does not fit, it is refused as `quota`, unless it repeats a call under its idempotency key.",
  },
  reclaim: {
    of: "TaskCommands.reclaim",
    says: "Returns the running tasks of a lost owner to the queue, where any owner may claim them; those whose handlers rest are parked.",
  },
  reopen: {
    of: "TaskStore.close",
    says: "Resolves when all writes are durable.",
  },
  reports: {
    of: "NodeReports",
    says: "Reports of a store's owners, for operators.",
    part: "reports",
  },
  loops: {
    of: "LoopCommands.next_round",
    says: "`value`, the state of the round `round`, replaces all entries of the loop's rounds, and the task is queued to go on with it.",
  },
  retry: {
    of: "TaskCommands.retry",
    says: "Returns a task whose handler threw to the queue: it runs again from `until` (epoch ms).",
  },
  secret: {
    of: "TaskCommands.keep_secret",
    says: "Stores `value` under `name`, unless a value exists already or it is null.",
  },
  sessions: {
    of: "SessionStore",
    says: "An optional part of a store: sessions of HTTP clients, so that they survive a restart, and are the same in all processes.",
    part: "sessions",
  },
  settle: {
    of: "TaskCommands.settle",
    says: "Replaces the status text by that of the end; without one, the task has none from then on.",
  },
  steps: {
    of: "TaskCommands.retry_step",
    says: "A step has failed for the `tries`-th time, and is retried at `until` (epoch ms); or, without an error, looks again at what is not ready yet.",
  },
  sweep: {
    of: "TaskStore.due",
    says: "Unfinished tasks whose end of life is at or before `now`, earliest first, at most `limit`.",
  },
  text: {
    of: "TaskStore.write",
    says: "The command is plain data that must not change until the write has ended.",
  },
  turns: {
    of: "TaskCommands.claim.turns",
    says: "The turns after the last claim; left out for a first one.",
  },
  unfinished: {
    of: "TaskStore.unfinished",
    says: "A page of unfinished tasks, oldest first: at most `limit` with ids above `after`.",
  },
  versions: {
    of: "TaskCommands.start.version",
    says: "`version`: that of its handler's tool.",
  },
  waiting: {
    of: "TaskCommands.park",
    says: "Parks a resting task; this process continues, and will run it again.",
  },
} as const satisfies Readonly<Record<string, StoreRule>>;

/** What the cases of an area hold a store to. */
export type StoreArea = keyof typeof storeRules;

/** The optional part that the cases of an area need, if any. */
export type PartOf<A extends StoreArea> = (typeof storeRules)[A] extends {
  readonly part: infer P extends StorePart;
}
  ? P
  : never;
