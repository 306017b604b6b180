import type { Block } from "../../src/task/blocked.ts";
import { decide, type TaskChangeCommand } from "../../src/task/decide.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import type { TaskEvent } from "../../src/task/transition.ts";
import { noon, sampleRequest, sampleTask } from "../contract/sample-task.ts";

// A command of every kind, and what it comes to.

export const now = noon + 100;
export const token = "t1";
export const outcome = { kind: "result", body: "{}" } as const;
export const failure = { kind: "error", body: "{}" } as const;
const input = { key: "ask", method: "elicitation/create", params: '{"message":"?"}' } as const;

export const block: Block = {
  reason: "replay",
  problem: "It is another question.",
  key: "ask",
  was: "Who?",
  is: "What?",
  version: 2,
  deploy: "abc",
};

export type Samples = { readonly [N in TaskEvent]: Extract<TaskChangeCommand, { readonly type: N }> };
const id = "task-a";
export const samples: Samples = {
  start: { type: "start", now, id, token: "t2" },
  release: { type: "release", now, id, token },
  block: { type: "block", now, id, token, until: now + 50, block },
  orphan: { type: "orphan", now, id, until: now + 50, block },
  unblock: { type: "unblock", now, id },
  reclaim: { type: "reclaim", now, id, backoff: { baseMs: 10, maxMs: 15, maxCrashes: 4 } },
  park: { type: "park", now, id, token },
  retry: { type: "retry", now, id, token, until: now + 50, statusMessage: "failed" },
  wake: { type: "wake", now, id },
  mark: { type: "mark", now, id, token },
  record_step: { type: "record_step", now, id, token, key: "k", value: "1", error: null },
  write_piece: { type: "write_piece", now, id, token, key: "file", seq: 0, body: "" },
  retry_step: { type: "retry_step", now, id, token, key: "k", error: "{}", tries: 1, until: now + 50 },
  begin_step: { type: "begin_step", now, id, token, key: "k", value: "{}" },
  next_round: { type: "next_round", now, id, token, key: "loop", value: "{}", round: 2, open: [] },
  open_input: { type: "open_input", now, id, token, input, requestHash: "h", deadlineAt: null },
  close_wait: { type: "close_wait", now, id, token, key: "ask", error: "{}" },
  sleep: { type: "sleep", now, id, token, key: "nap", until: now + 50 },
  end_sleep: { type: "end_sleep", now, id, token, key: "nap" },
  call_tool: {
    type: "call_tool",
    now,
    id,
    token,
    key: "call",
    requestHash: "h",
    child: sampleTask("child"),
    request: sampleRequest,
    cancelGraceMs: 5,
  },
  end_call: { type: "end_call", now, id, key: "call", value: "{}", error: null },
  count_inputs: { type: "count_inputs", now, id, by: 1 },
  wait_event: {
    type: "wait_event",
    now,
    id,
    token,
    key: "wait",
    name: "paid",
    requestHash: "#",
    deadlineAt: null,
  },
  send_event: { type: "send_event", now, id, name: "paid", value: "1", dedupeId: null, limit: 9 },
  answer_inputs: { type: "answer_inputs", now, id, answers: [{ key: "ask", value: "{}" }] },
  update: { type: "update", now, id, token, changes: {} },
  append: {
    type: "append",
    now,
    id,
    token,
    lines: [{ list: "log", seq: 1, at: now, step: "", place: 0, body: "{}" }],
    forget: [],
  },
  settle: { type: "settle", now, id, token, outcome },
  fail: { type: "fail", now, id, outcome: failure, statusMessage: "failed" },
  expire: { type: "expire", now, id, outcome: failure, statusMessage: "expired", visibleUntil: now + 9 },
  request_cancel: { type: "request_cancel", now, id },
  cancel: { type: "cancel", now, id },
};
export const names = Object.keys(samples) as TaskEvent[];

export function asked(key: string, members: Partial<JournalEntry> = {}): JournalEntry {
  const { method, params: request } = input;
  return {
    key,
    kind: "input",
    method,
    request,
    requestHash: "h",
    value: null,
    error: null,
    deadlineAt: null,
    tries: 0,
    begunAt: now,
    doneAt: null,
    doneVersion: null,
    ...members,
  };
}

/** What the journal has of the sample sleep while it lasts. */
export const asleep: JournalEntry = {
  ...asked("nap", { method: null, request: null, requestHash: null }),
  kind: "sleep",
  deadlineAt: now + 50,
};

/** The same of a call, and of a wait for an event. */
const calling = asked("call", { kind: "call", method: null, request: "publish" });
const waiting = asked("wait", {
  kind: "event",
  method: null,
  request: "paid",
  requestHash: null,
  begunAt: now,
});

/** The journal in which the sample command does something. */
export function journalFor(name: TaskEvent): JournalEntry[] {
  if (name === "end_sleep") return [asleep];
  if (name === "end_call") return [calling];
  if (name === "send_event") return [waiting];
  return name === "answer_inputs" || name === "close_wait" ? [asked("ask")] : [];
}

export function decideWith(
  task: TaskRecord | undefined,
  command: TaskChangeCommand,
  ...journal: JournalEntry[]
) {
  return decide(task, command, {
    owner: "causer",
    entry: (key) => journal.find((entry) => entry.key === key),
    eventWait: journal.find(({ kind }) => kind === "event"),
  });
}

/** The decision, for a command that has to be accepted. */
export function accepted(task: TaskRecord, command: TaskChangeCommand, ...journal: JournalEntry[]) {
  const decision = decideWith(task, command, ...journal);
  if (!decision.ok) throw new Error(`refused: ${decision.reason}`);
  return decision;
}

/** What the command changed in the record, but for its attempts. */
export function changed(
  before: TaskRecord,
  command: TaskChangeCommand,
  ...journal: JournalEntry[]
): Partial<TaskRecord> {
  const { task } = accepted(before, command, ...journal);
  const was = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(
    Object.entries(task).filter(([name, value]) => name !== "attempts" && was.get(name) !== value),
  );
}

export const refused = (reason: string) => ({ ok: false, reason });
