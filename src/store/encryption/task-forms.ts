import type { TaskAttempt } from "../../task/attempts.ts";
import type {
  NewTask,
  Origin,
  Progress,
  TaskRecord,
  TaskRequest,
  TaskSnapshot,
  TraceContext,
} from "../../task/record.ts";
import type { InputAnswer, InputRequest, JournalEnd, JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import type { JournalPage, ListedEntry } from "../store.ts";
import { attemptError, body, clear, each, failure, members, words, type Form } from "./form.ts";

export const progress = members<Progress>({ progress: clear, total: clear, message: words });

/** The part of a record that its creator decides. */
const creatorsPart = {
  id: clear,
  wireId: clear,
  generation: clear,
  scope: clear,
  principal: clear,
  method: clear,
  tool: clear,
  idempotencyKey: clear,
  requestHash: clear,
  requiredScopes: clear,
  expiry: clear,
  runUntil: clear,
  pollIntervalMs: clear,
  statusMessage: words,
  notifies: clear,
};

export const newTask = members<NewTask>(creatorsPart);

const attempt = members<TaskAttempt>({
  number: clear,
  owner: clear,
  startedAt: clear,
  endedAt: clear,
  end: clear,
  error: attemptError,
  stack: words,
});

export const record = members<TaskRecord>({
  ...creatorsPart,
  parent: clear,
  state: clear,
  version: clear,
  createdAt: clear,
  updatedAt: clear,
  finishedAt: clear,
  sweepAt: clear,
  progress,
  logged: clear,
  outputs: clear,
  openInputs: clear,
  childInputs: clear,
  openWaits: clear,
  cancelRequestedAt: clear,
  cancelBy: clear,
  awaitedBy: clear,
  promised: clear,
  owner: clear,
  lane: clear,
  runAfter: clear,
  attempt: clear,
  attempts: each(attempt),
  toolVersion: clear,
  failures: clear,
  limited: clear,
  token: clear,
  startedAt: clear,
  journalled: clear,
  waiting: clear,
  crashes: clear,
  outcomeKind: clear,
  retrieved: clear,
});

const trace = members<TraceContext>({ traceparent: clear, tracestate: clear, baggage: body });

const origin = members<Origin>({
  session: clear,
  requestId: clear,
  progressToken: clear,
  capabilities: clear,
  caller: (caller, texts) => texts.caller(caller),
  trace,
  prepareInTask: clear,
  received: clear,
  askedBy: clear,
  retryOf: clear,
  depth: clear,
  toolScopes: clear,
});

export const request = members<TaskRequest>({ origin, arguments: body, prepared: body });

export const outcome = members<Outcome>({ kind: clear, body });

export const inputRequest = members<InputRequest>({
  key: clear,
  method: clear,
  params: body,
  requiredScopes: clear,
});

export const inputAnswer: Form<InputAnswer> = (answer, texts) =>
  "error" in answer
    ? { ...answer, error: texts.body(answer.error) }
    : { ...answer, value: texts.body(answer.value) };

const head = {
  key: clear,
  kind: clear,
  method: clear,
  requestHash: clear,
  deadlineAt: clear,
  tries: clear,
  begunAt: clear,
  doneAt: clear,
  doneVersion: clear,
};

export const journalEnd = members<JournalEnd>({ key: clear, value: body, error: failure });

const entryOfInput = members<JournalEntry>({ ...head, request: body, value: body, error: failure });
const entryOfOthers = members<JournalEntry>({ ...head, request: clear, value: body, error: failure });

/** An input's request is its params; that of other entries is a name. */
export const journalEntry: Form<JournalEntry> = (entry, texts) =>
  entry.kind === "input" ? entryOfInput(entry, texts) : entryOfOthers(entry, texts);

export const journalPage = members<JournalPage>({
  entries: each(members<ListedEntry>({ ...head, place: clear, bytes: clear })),
  next: clear,
});

export const snapshot = members<TaskSnapshot>({ task: record, inputs: each(inputRequest), outcome });

const lineOf = (list: LineList): Form<TaskLine> =>
  members<TaskLine>({
    list: clear,
    seq: clear,
    at: clear,
    step: clear,
    place: clear,
    body: (text, texts) => texts.lineBody(text, list),
  });
const lines: Readonly<Record<LineList, Form<TaskLine>>> = { log: lineOf("log"), output: lineOf("output") };

export const line: Form<TaskLine> = (value, texts) => lines[value.list](value, texts);
