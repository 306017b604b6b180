import * as fc from "fast-check";
import type { MessageCommand } from "../../src/store/session-store.ts";
import type { TaskCommand, TaskCommandName } from "../../src/task/command.ts";
import { inputMethods } from "../../src/task/journal.ts";
import { kept } from "../../src/testing/sample-task.ts";
import type { HandlerName, Rest } from "../../src/task/queue.ts";
import type { Progress } from "../../src/task/record.ts";
import { latestTime } from "../../src/task/time.ts";
import type { StoreCommand } from "./model.ts";
import { arbitraryId, child, expiry, quota, request, task, text } from "./arbitrary-task.ts";
import { claimed, turns, version } from "./arbitrary-turns.ts";
import { handlers, ids } from "./view.ts";

// Few names and few times, so that commands meet.
const id = arbitraryId;
const now = fc.integer({ min: 0, max: 60 });
const token = fc.constantFrom("t1", "t1", "t1", "t1", "t2");
const roundKey = fc.constantFrom('["k1","round 1","a"]', '["k1","round 2","a"]', '["k2","round 1","a"]');
const key = fc.oneof({ weight: 5, arbitrary: fc.constantFrom("k1", "k2", "k3", "k4") }, roundKey);
/** Owners are numbered as they come; the first ones see the most of a sequence. */
const owner = fc.constantFrom("o1", "o1", "o2", "o2", "o3", "o4", "o5");
const [x, y] = handlers;
export const arbitraryHandlers: fc.Arbitrary<readonly HandlerName[]> = fc.constantFrom(
  [x, y],
  [x, y],
  [x],
  [y],
  [],
);
const about = { id, now };
const held = { id, now, token };
const outcome = fc.record({
  kind: fc.constantFrom("result" as const, "error_result" as const, "error" as const),
  body: fc.constantFrom("{}", '{"n":1}'),
});
const progress: fc.Arbitrary<Progress> = fc.record(
  {
    progress: fc.oneof(
      fc.constantFrom(1, 2, 3),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
    ),
    total: fc.nat(),
    message: text,
  },
  { requiredKeys: ["progress"] },
);
const input = fc.record({
  key,
  method: fc.constantFrom(...inputMethods),
  params: fc.constantFrom("{}", '{"m":1}'),
});

/** What attempts say that know of all that has come, and that do not; one that waits for no question waits until a time. */
const rest: fc.Arbitrary<Rest> = fc.oneof(
  fc.record({
    reason: fc.constantFrom("sleep", "retry", "event", "limit"),
    runAfter: fc.oneof({ weight: 6, arbitrary: now }, { weight: 1, arbitrary: fc.constant(null) }),
    open: fc.constantFrom(0, 0, 0, 1, 1, 2),
  }),
  fc.record({ runAfter: fc.constant(latestTime), open: fc.constantFrom(1, 1, 1, 2) }),
);

/** The handler rests with most of these. */
function mostlyRests<T extends object>(command: fc.Arbitrary<T>): fc.Arbitrary<T & { readonly rest?: Rest }> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.tuple(command, rest).map(([each, said]) => ({ ...each, rest: said })) },
    { weight: 1, arbitrary: command },
  );
}

const orNothing = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary);

const block = fc.record({
  reason: fc.constantFrom("replay", "arguments", "version", "tool"),
  problem: text,
  key: orNothing(key),
  was: orNothing(text),
  is: orNothing(text),
  version: fc.constantFrom(null, 1, 2),
  deploy: orNothing(text),
});
const unbegun = fc.constant(true as const);

const eventName = fc.constantFrom("n", "n", "m");

const bulkId = fc.constantFrom("j", "j", "k");

const hook = fc.constant("h");
const delivery = { seq: fc.integer({ min: 1, max: 3 }), tries: fc.constant(1) };

const line = fc.record({
  list: fc.constantFrom("log", "log", "output"),
  seq: fc.integer({ min: 1, max: 4 }),
  at: now,
  step: fc.constantFrom("", "k"),
  place: fc.nat({ max: 3 }),
  body: text,
});

/** Random commands by name: what is new to TaskCommands has to be added here, or this does not compile. */
const members: { readonly [N in TaskCommandName]: fc.Arbitrary<Omit<TaskCommand<N>, "type">> } = {
  create: fc.record(
    {
      now,
      task,
      request,
      token: fc.constantFrom(null, null, null, "t1", "t1", "t2"),
      forAnyOwner: fc.constant(true as const),
      awaited: fc.constant(true as const),
      promised: fc.constant(true as const),
      quota,
      version,
    },
    { requiredKeys: ["now", "task", "request", "token"] },
  ),
  start: fc.record(
    { ...held, limited: fc.constant(true as const), version },
    { requiredKeys: ["id", "now", "token"] },
  ),
  claim: fc.record(
    {
      now: fc.oneof(now, fc.constant(60)),
      handlers: fc
        .tuple(arbitraryHandlers, claimed, claimed)
        .map(([own, ...how]) => own.map((handler, index) => ({ ...handler, ...how[index] }))),
      tokens: fc.constantFrom(["t1"], ["t1"], ["t1", "t2"], ["t1", "t1", "t1"], []),
      turns,
    },
    { requiredKeys: ["now", "handlers", "tokens"] },
  ),
  release: fc.record({ ...held, until: now }, { requiredKeys: ["id", "now", "token"] }),
  retry: fc.record({ ...held, until: now, statusMessage: text }),
  block: fc.record(
    { ...held, until: now, block, unbegun },
    { requiredKeys: ["id", "now", "token", "until", "block"] },
  ),
  orphan: fc.record({ ...about, until: now, block }),
  unblock: fc.record(about),
  park: fc.record(held),
  wake: fc.record({ now: fc.oneof(now, fc.constant(60)), limit: fc.constantFrom(0, 1, 1, 9, 9) }),
  mark: mostlyRests(
    fc.record(
      { ...held, beforeHandler: fc.constant(true as const) },
      { requiredKeys: Object.keys(held) as (keyof typeof held)[] },
    ),
  ),
  record_step: fc.record(
    {
      ...held,
      key,
      value: orNothing(text),
      error: orNothing(text),
      begunAt: now,
      beforeHandler: fc.constant(true as const),
      artifact: fc.constant(true as const),
    },
    { requiredKeys: ["id", "now", "token", "key", "value", "error"] },
  ),
  write_piece: fc.record({ ...held, key, seq: fc.nat({ max: 2 }), body: text }),
  begin_step: fc.record(
    { ...held, key, value: text, begunAt: now, goesOn: fc.constant(true as const) },
    { requiredKeys: ["id", "now", "token", "key", "value"] },
  ),
  next_round: fc.record({
    ...held,
    key: fc.constantFrom("k1", "k1", "k2"),
    value: text,
    round: fc.integer({ min: 2, max: 4 }),
    open: fc.array(fc.oneof({ weight: 3, arbitrary: roundKey }, key), { maxLength: 4 }),
  }),
  retry_step: mostlyRests(
    fc.record(
      {
        ...held,
        key,
        error: fc.option(text),
        tries: fc.integer({ min: 0, max: 3 }),
        until: now,
        value: text,
        begunAt: now,
      },
      { requiredKeys: ["id", "now", "token", "key", "error", "tries", "until"] },
    ),
  ),
  add_bulk_tasks: fc.record({
    now,
    job: bulkId.map((job) => ({
      id: job,
      actor: "ann",
      action: "cancel" as const,
      selection: { tool: "x" },
      principal: null,
      text: null,
      options: {},
      createdAt: 0,
    })),
    from: fc.constant(0),
    taskIds: fc.constant([]),
  }),
  start_bulk: fc.record({ now, id: bulkId }),
  hold_bulk: fc.record({ now, id: bulkId, until: now }),
  end_bulk: fc.record({ now, id: bulkId, cancelledBy: orNothing(fc.constant("bob")) }),
  refuse_bulk_task: fc.record({
    now,
    task: fc.record({ job: bulkId, place: fc.constant(0) }),
    code: fc.constant("finished"),
    message: text,
  }),
  delete_bulk: fc.record({ now, id: bulkId }),
  extend: fc.record({ now, id, until: orNothing(now) }),
  pause_tool: fc.record({ now, tool: fc.constantFrom("x", "y"), actor: fc.constant("ann") }),
  resume_tool: fc.record({ now, tool: fc.constantFrom("x", "y") }),
  drain_owner: fc.record({ now, owner: fc.constantFrom("owner-1", "gone"), until: orNothing(now) }),
  mark_cause: fc.record({
    now,
    mark: fc.record({
      cause: fc.constantFrom("c0", "c1"),
      muted: fc.boolean(),
      note: orNothing(text),
      actor: fc.constant("ann"),
      at: now,
    }),
  }),
  record_action: fc.record({ now }),
  append: fc.record({
    ...held,
    lines: fc.array(line, { maxLength: 3 }),
    forget: fc.subarray([1, 2, 3, 4]),
  }),
  call_tool: mostlyRests(
    fc.record(
      {
        ...held,
        key,
        requestHash: fc.constantFrom("h", "g"),
        child,
        request,
        journal: fc.constant([kept]),
        cancelGraceMs: fc.constantFrom(0, 5, 20),
      },
      { requiredKeys: ["id", "now", "token", "key", "requestHash", "child", "request", "cancelGraceMs"] },
    ),
  ),
  wait_event: mostlyRests(
    fc.record({
      ...held,
      key,
      name: eventName,
      requestHash: fc.constant("h"),
      deadlineAt: orNothing(now),
    }),
  ),
  send_event: fc.record({
    ...about,
    name: eventName,
    value: text,
    dedupeId: fc.constantFrom(null, null, "x", "y"),
    limit: fc.constantFrom(1, 2, 9, 9),
  }),
  open_input: mostlyRests(
    fc.record({ ...held, input, requestHash: fc.constantFrom("h", "g"), deadlineAt: orNothing(now) }),
  ),
  close_wait: fc.record({ ...held, key, error: text }),
  sleep: mostlyRests(fc.record({ ...held, key, until: now })),
  end_sleep: fc.record({ ...held, key }),
  answer_inputs: fc.record({
    ...about,
    answers: fc.array(fc.oneof(fc.record({ key, value: text }), fc.record({ key, error: text })), {
      maxLength: 4,
    }),
  }),
  update: fc.record({
    ...held,
    changes: fc.record(
      {
        statusMessage: orNothing(text),
        pollIntervalMs: fc.nat({ max: 9 }),
        expiry,
        progress,
        waiting: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  }),
  settle: fc.record(
    { ...held, outcome, statusMessage: text },
    { requiredKeys: ["id", "now", "token", "outcome"] },
  ),
  fail: fc.record(
    { ...about, outcome, statusMessage: text, orphaned: fc.constant(true as const) },
    { requiredKeys: ["id", "now", "outcome", "statusMessage"] },
  ),
  expire: fc.record({
    ...about,
    outcome,
    statusMessage: text,
    visibleUntil: fc.integer({ min: 0, max: 90 }),
  }),
  request_cancel: fc.record({ ...about, cancelBy: now }, { requiredKeys: ["id", "now"] }),
  join: fc.record(
    { ...about, alone: fc.boolean(), key: fc.constantFrom("i", "j") },
    { requiredKeys: ["id", "now", "alone"] },
  ),
  leave: fc.record({
    ...about,
    stays: fc.boolean(),
    promised: fc.constantFrom(false, false, true),
    cancelBy: orNothing(now),
  }),
  cancel: fc.record(
    {
      ...about,
      statusMessage: text,
      scheduled: fc.constant(true as const),
      unlessWanted: fc.constant(true as const),
    },
    { requiredKeys: ["id", "now"] },
  ),
  reclaim: fc.record({
    now,
    owner,
    after: fc.constantFrom("", "", ...ids),
    limit: fc.constantFrom(0, 1, 2, 99),
    backoff: fc.constantFrom(
      { baseMs: 0, maxMs: 0, maxCrashes: 9 },
      { baseMs: 5, maxMs: 12, maxCrashes: 9 },
      { baseMs: 5, maxMs: 12, maxCrashes: 3 },
    ),
  }),
  release_key: fc.record({ ...about, deleteBy: fc.nat({ max: 90 }) }, { requiredKeys: ["id", "now"] }),
  retrieve: fc.record({ ...about, via: text }),
  delete: fc.record(about),
  keep_secret: fc.record({ now, name: key, value: orNothing(text) }),
  replace_secret: fc.record({ now, name: key, before: text, value: orNothing(text) }),
  rekey: fc
    .record({ ...about, before: fc.constantFrom("i", "j") })
    .map((given) => ({ ...given, key: `i-${given.id}` })),
  // No task of the sequences has webhooks: `outbox` of the contract of stores is about those that have.
  claim_deliveries: fc.record({ now, hook, limit: fc.nat({ max: 3 }), until: now }),
  end_delivery: fc.record({ now, ...delivery }),
  retry_delivery: fc.record({ now, ...delivery, at: orNothing(now), problem: orNothing(text) }),
  repeat_delivery: fc.record({ now, id, hook }),
  resend_deliveries: fc.record({ now, hook, limit: fc.nat({ max: 3 }) }),
  trim_deliveries: fc.record({ now, most: fc.nat({ max: 3 }), before: now, limit: fc.nat({ max: 3 }) }),
  delete_expired: fc.record({ now: fc.integer({ min: 0, max: 100 }), limit: fc.integer({ min: 0, max: 3 }) }),
};

const message = fc.record({ body: text, bound: fc.boolean() });
const messageCommand: fc.Arbitrary<MessageCommand> = fc.oneof(
  fc.record({
    type: fc.constant("put_message" as const),
    taskId: id,
    message,
    maxMessages: fc.constantFrom(null, 1, 3),
  }),
  fc.record({
    type: fc.constant("take_messages" as const),
    taskId: id,
    limit: fc.constantFrom(null, 0, 1),
  }),
);

export const commandNames = Object.keys(members) as TaskCommandName[];

/** Enough tasks, and enough that run, for the other commands to find some. */
const weights: Partial<Record<TaskCommandName, number>> = {
  create: 10,
  start: 3,
  claim: 6,
  release: 4,
  block: 4,
  unblock: 2,
  park: 4,
  wake: 5,
  mark: 9,
  update: 2,
  record_step: 4,
  sleep: 5,
  end_sleep: 4,
  open_input: 7,
  call_tool: 6,
  wait_event: 4,
  send_event: 4,
  retry_step: 3,
  begin_step: 2,
  next_round: 3,
  retry: 3,
  close_wait: 4,
  join: 3,
  leave: 3,
  answer_inputs: 4,
  request_cancel: 3,
  cancel: 6,
  reclaim: 2,
  delete_expired: 2,
};

const taskCommand = fc.oneof(
  ...commandNames.map((type) => ({ weight: weights[type] ?? 1, arbitrary: commandOf(type) })),
);

/** Their answers tell in which order the commands of a race came: those of messages do not. */
export const arbitraryTaskCommand: fc.Arbitrary<TaskCommand> = taskCommand;

/** Any of them, mostly those that change what the requestor of a task sees. */
export const arbitraryLifeCommand: fc.Arbitrary<TaskCommand> = fc.oneof(
  { weight: 2, arbitrary: taskCommand },
  { weight: 1, arbitrary: commandOf("create") },
  { weight: 1, arbitrary: commandOf("start") },
  { weight: 2, arbitrary: commandOf("open_input") },
  { weight: 1, arbitrary: commandOf("answer_inputs") },
  { weight: 1, arbitrary: commandOf("settle") },
  // Most of them are on terms that do not hold.
  { weight: 3, arbitrary: commandOf("cancel") },
);

export const arbitraryCommand: fc.Arbitrary<StoreCommand> = fc.oneof(
  { weight: 20, arbitrary: taskCommand },
  { weight: 1, arbitrary: messageCommand.map(plain) },
);

export function commandOf<N extends TaskCommandName>(type: N): fc.Arbitrary<TaskCommand<N>> {
  const others: fc.Arbitrary<object> = members[type];
  return others.map((each) => plain({ type, ...each }) as TaskCommand<N>);
}

/** A copy, since fast-check's records have no prototype, and what goes through a store has one. */
function plain<T>(command: T): T {
  return structuredClone(command);
}

export const arbitraryLook = fc.record({
  now,
  after: fc.constantFrom("", ...ids),
  before: fc.constantFrom(null, ...ids),
  limit: fc.nat({ max: 4 }),
  key,
});
