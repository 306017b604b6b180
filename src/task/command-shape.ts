/**
 * What a command has to look like, checked before any store applies it: callers may be untyped.
 * - A store refuses everything else with `invalid_params`, and stays as it was.
 * - Each member of each command is in the table: one that is missing here does not compile.
 * - Only types are checked. What the state of a task allows, `decide` decides.
 */

import { type Block, blockReasons } from "./blocked.ts";
import type { TaskLine } from "./task-line.ts";
import type { TaskCommand, TaskCommandName, TaskCommands } from "./command.ts";
import { bulkActions, type BulkPlace, type NewBulkJob } from "./bulk.ts";
import { HoldfastError } from "./fault.ts";
import {
  inputMethods,
  waitReasons,
  type InputAnswer,
  type InputRequest,
  type JournalEntry,
} from "./journal.ts";
import type { Outcome } from "./outcome.ts";
import type { ClaimingHandler, CrashBackoff, Quota, Allowance, Rest, Turns } from "./queue.ts";
import {
  generationNames,
  taskMethods,
  type ActionBy,
  type Expiry,
  type NewTask,
  type Progress,
  type TaskChanges,
  type TaskRequest,
} from "./record.ts";
import {
  flag,
  json,
  listOf,
  members,
  name,
  number,
  oneOf,
  optional,
  orNull,
  text,
  textOrNull,
  texts,
  whole,
  wholeOrNull,
  yes,
  type MembersOf,
  type Shape,
} from "./value-shape.ts";
import type { CauseMark, Failure } from "./cause.ts";

const method = oneOf(Object.keys(taskMethods));
const handler = { method, tool: text };

const outcome = members<Outcome>({ kind: oneOf(["result", "error_result", "error"]), body: text });
const ending = {
  outcome,
  statusMessage: optional(text),
  failure: optional(
    members<Failure>({
      name: optional(text),
      code: optional(name),
      step: optional(text),
      site: optional(text),
    }),
  ),
};
const expiry = members<Expiry>({ from: oneOf(["created", "terminal"]), ms: wholeOrNull });
const rest = optional(
  members<Rest>({ reason: optional(oneOf(Object.keys(waitReasons))), runAfter: wholeOrNull, open: whole }),
);
const allowance = members<Allowance>({ unfinished: orNull(number), retained: orNull(number) });

const block = members<Block>({
  reason: oneOf(Object.keys(blockReasons)),
  problem: text,
  key: textOrNull,
  was: textOrNull,
  is: textOrNull,
  version: wholeOrNull,
  deploy: textOrNull,
});

const newTask = members<NewTask>({
  id: text,
  wireId: text,
  generation: oneOf(generationNames),
  scope: text,
  principal: textOrNull,
  method,
  tool: text,
  idempotencyKey: textOrNull,
  requestHash: text,
  requiredScopes: texts,
  expiry,
  runUntil: wholeOrNull,
  pollIntervalMs: whole,
  statusMessage: textOrNull,
  notifies: optional(texts),
});

const request = members<TaskRequest>({
  origin: (value) =>
    json(value) ??
    members<Pick<TaskRequest["origin"], "session" | "requestId" | "capabilities">>({
      session: optional(text),
      requestId: optional(name),
      capabilities: json,
    })(value),
  arguments: text,
  prepared: textOrNull,
});

const journalEntry = members<JournalEntry>({
  key: text,
  kind: oneOf(["step", "input", "sleep", "call", "event", "artifact", "loop"]),
  method: orNull(oneOf(inputMethods)),
  request: textOrNull,
  requestHash: textOrNull,
  value: textOrNull,
  error: textOrNull,
  deadlineAt: wholeOrNull,
  tries: whole,
  begunAt: wholeOrNull,
  doneAt: wholeOrNull,
  doneVersion: wholeOrNull,
});

const line = members<TaskLine>({
  list: oneOf(["log", "output"]),
  seq: whole,
  at: whole,
  step: text,
  place: whole,
  body: text,
});

const changes = members<TaskChanges>({
  statusMessage: optional(textOrNull),
  pollIntervalMs: optional(whole),
  expiry: optional(expiry),
  progress: optional(
    members<Progress>({ progress: number, total: optional(number), message: optional(text) }),
  ),
  waiting: optional(flag),
});

const answer: Shape = (value) =>
  json(value) ??
  ("error" in (value as InputAnswer)
    ? members({ key: text, error: text })(value)
    : members({ key: text, value: text })(value));

const claiming = members<ClaimingHandler>({
  ...handler,
  priority: optional(number),
  concurrency: optional(whole),
  version: optional(whole),
});

const turns = members<Turns>({
  rounds: listOf(members<Turns["rounds"][number]>({ priority: number, principal: text, lane: text })),
  limited: listOf(members<Turns["limited"][number]>({ ...handler, principal: text })),
});

const quota = members<Quota>({ perPrincipal: allowance, total: allowance });

const held = { id: text, token: text };

const wait = { ...held, key: text, requestHash: text, rest };

const bulkPlace = { job: text, place: whole };

const shapes: { readonly [N in TaskCommandName]: MembersOf<TaskCommands[N]> } = {
  create: {
    task: newTask,
    request,
    token: textOrNull,
    version: optional(whole),
    forAnyOwner: yes,
    awaited: yes,
    promised: yes,
    quota: optional(quota),
    journal: optional(listOf(journalEntry)),
    retryOf: optional(
      members<NonNullable<TaskCommands["create"]["retryOf"]>>({ id: text, known: textOrNull }),
    ),
  },
  start: { ...held, limited: yes, version: optional(whole) },
  claim: { handlers: listOf(claiming), tokens: texts, turns: optional(turns) },
  release: { ...held, until: optional(whole) },
  retry: { ...held, until: whole, statusMessage: text, stack: optional(text) },
  block: { ...held, until: whole, block, unbegun: yes },
  orphan: { id: text, until: whole, block },
  unblock: { id: text },
  park: held,
  wake: { limit: whole, until: optional(whole) },
  mark: { ...held, rest, beforeHandler: optional(yes) },
  record_step: {
    ...held,
    key: text,
    value: textOrNull,
    error: textOrNull,
    begunAt: optional(whole),
    beforeHandler: yes,
    artifact: yes,
  },
  write_piece: { ...held, key: text, seq: whole, body: text },
  begin_step: { ...held, key: text, value: text, begunAt: optional(whole), goesOn: yes },
  retry_step: {
    ...held,
    key: text,
    error: textOrNull,
    tries: whole,
    until: whole,
    value: optional(text),
    begunAt: optional(whole),
    rest,
  },
  next_round: { ...held, key: text, value: text, round: whole, open: texts },
  open_input: {
    ...held,
    input: members<InputRequest>({
      key: text,
      method: oneOf(inputMethods),
      params: text,
      requiredScopes: optional(texts),
    }),
    requestHash: text,
    deadlineAt: wholeOrNull,
    rest,
  },
  close_wait: { ...held, key: text, error: text },
  sleep: { ...held, key: text, until: whole, rest },
  end_sleep: { ...held, key: text },
  call_tool: {
    ...wait,
    child: newTask,
    request,
    journal: optional(listOf(journalEntry)),
    cancelGraceMs: number,
  },
  wait_event: { ...wait, name: text, deadlineAt: wholeOrNull },
  send_event: {
    id: text,
    name: text,
    value: text,
    dedupeId: textOrNull,
    limit: number,
    key: optional(text),
    past: optional(whole),
  },
  answer_inputs: { id: text, answers: listOf(answer), past: optional(whole) },
  update: { ...held, changes },
  append: { ...held, lines: listOf(line), forget: listOf(whole) },
  settle: { ...held, ...ending, stack: optional(text) },
  fail: { id: text, ...ending, orphaned: yes },
  expire: { id: text, ...ending, visibleUntil: whole },
  request_cancel: { id: text, cancelBy: optional(whole) },
  join: { id: text, alone: flag, key: optional(text) },
  leave: { id: text, stays: flag, promised: flag, cancelBy: wholeOrNull },
  cancel: { id: text, statusMessage: optional(text), scheduled: yes, unlessWanted: yes },
  reclaim: {
    owner: text,
    after: text,
    limit: whole,
    backoff: members<CrashBackoff>({ baseMs: number, maxMs: number, maxCrashes: number }),
  },
  release_key: { id: text, deleteBy: optional(whole) },
  retrieve: { id: text, via: text },
  extend: { id: text, until: wholeOrNull },
  pause_tool: { tool: text, actor: text },
  resume_tool: { tool: text },
  drain_owner: { owner: text, until: wholeOrNull },
  mark_cause: {
    mark: members<CauseMark>({ cause: text, muted: flag, note: textOrNull, actor: text, at: whole }),
  },
  record_action: {},
  delete: { id: text },
  keep_secret: { name: text, value: textOrNull },
  replace_secret: { name: text, before: text, value: textOrNull },
  rekey: { id: text, before: text, key: text },
  delete_expired: { limit: whole },
  claim_deliveries: { hook: text, limit: whole, until: whole },
  end_delivery: { seq: whole, tries: whole },
  retry_delivery: { seq: whole, tries: whole, at: wholeOrNull, problem: textOrNull, unsent: yes },
  resend_deliveries: { hook: text, limit: whole, waiting: yes, seqs: optional(listOf(whole)) },
  repeat_delivery: { id: text, hook: text },
  trim_deliveries: { most: whole, before: whole, limit: whole },
  add_bulk_tasks: {
    job: members<NewBulkJob>({
      id: text,
      actor: text,
      action: oneOf(Object.keys(bulkActions)),
      selection: json,
      principal: textOrNull,
      text: textOrNull,
      options: json,
      createdAt: whole,
    }),
    from: whole,
    taskIds: texts,
  },
  start_bulk: { id: text },
  hold_bulk: { id: text, until: whole },
  end_bulk: { id: text, cancelledBy: textOrNull },
  refuse_bulk_task: { task: members<BulkPlace>(bulkPlace), code: text, message: text },
  delete_bulk: { id: text },
};

const bulk = optional(members<BulkPlace>(bulkPlace));

const by = optional(
  members<ActionBy>({
    actor: text,
    action: text,
    taskId: optional(text),
    job: optional(text),
    detail: optional(json),
  }),
);

/** A map, since an untyped name may be `constructor`. */
const known: ReadonlyMap<unknown, Shape> = new Map(
  Object.entries<Readonly<Record<string, Shape>>>(shapes).map(([type, own]) => [
    type,
    members<Readonly<Record<string, unknown>>>({ now: whole, by, bulk, ...own }),
  ]),
);

/** Throws `invalid_params` with what is allowed, unless it is a command. */
export function assertCommand(given: TaskCommand): void {
  const value: unknown = given;
  const type: unknown = typeof value === "object" && value !== null && "type" in value ? value.type : value;
  const fits = known.get(type);
  if (fits === undefined) {
    const types = Array.from(known.keys(), String).join(", ");
    throw new HoldfastError(
      "invalid_params",
      `This is not a command. A command has one of these types: ${types}.`,
    );
  }
  const misfit = fits(value);
  if (misfit === undefined) return;
  const { path, found, allowed } = misfit;
  throw new HoldfastError(
    "invalid_params",
    `The command ${String(type)} is not valid: ${path.slice(1)} is ${kindOf(found)}. Allowed: ${allowed}.`,
  );
}

/** Texts are not shown: they may be secret. */
function kindOf(found: unknown): string {
  if (found === undefined) return "missing";
  if (found === null || typeof found === "number" || typeof found === "boolean") return String(found);
  return Array.isArray(found) ? "a list" : `of type ${typeof found}`;
}
