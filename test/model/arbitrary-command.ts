import * as fc from "fast-check";
import type { TaskCommand, TaskCommandName } from "../../src/task/command.ts";
import { inputMethods } from "../../src/task/input.ts";
import type { Progress } from "../../src/task/record.ts";
import { ids } from "./view.ts";

// Few names and few times, so that commands meet.
const id = fc.constantFrom(...ids);
const now = fc.integer({ min: 0, max: 60 });
const token = fc.constantFrom("t1", "t1", "t1", "t1", "t2");
const key = fc.constantFrom("k1", "k2", "k3", "k4");
const text = fc.constantFrom("", "one", "two");
const about = { id, now };
const held = { id, now, token };
const ms = fc.option(fc.integer({ min: 0, max: 40 }));
const expiry = fc.record({ from: fc.constantFrom("created" as const, "terminal" as const), ms });
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

const newTask = fc.record({
  scope: fc.constantFrom("", "", "s"),
  generation: fc.constantFrom("2026-07-28" as const, "2026-07-28" as const, "plain" as const),
  principal: fc.constantFrom(null, "ann"),
  method: fc.constant("tools/call" as const),
  tool: fc.constantFrom("x", "y"),
  idempotencyKey: fc.constantFrom(null, null, "i", "j"),
  requestHash: fc.constantFrom("h", "h", "g"),
  requiredScopes: fc.constantFrom([], ["read"], ["read", "send"]),
  expiry,
  runUntil: fc.option(fc.integer({ min: 0, max: 60 })),
  pollIntervalMs: fc.integer({ min: 0, max: 9 }),
  statusMessage: fc.option(text),
});
const task = fc
  .tuple(newTask, id, fc.constantFrom(undefined, undefined, undefined, "w"))
  .map(([members, own, wireId]) => ({ ...members, id: own, wireId: wireId ?? own }));
const request = fc.record({
  origin: fc.constantFrom({ capabilities: {} }, { requestId: 1, capabilities: { roots: {} } }),
  arguments: fc.constantFrom("{}", '{ "a":1.0 }'),
  prepared: fc.constantFrom(null, "{}"),
});

const allowance = fc.record({
  unfinished: fc.constantFrom(null, null, 1, 3),
  retained: fc.constantFrom(null, null, 2, 4),
});
const quota = fc.record({ perPrincipal: allowance, total: allowance });

const orNothing = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary);

/** Random commands by name: what is new to TaskCommands has to be added here, or this does not compile. */
const members: { readonly [N in TaskCommandName]: fc.Arbitrary<Omit<TaskCommand<N>, "type">> } = {
  create: fc.record(
    { now, task, request, token: fc.constantFrom(null, "t1", "t1", "t2"), quota },
    { requiredKeys: ["now", "task", "request", "token"] },
  ),
  start: fc.record(held),
  release: fc.record(held),
  mark: fc.record({ ...held, waiting: fc.boolean() }),
  record_step: fc.record(
    {
      ...held,
      key,
      value: orNothing(text),
      error: orNothing(text),
      beforeHandler: fc.constant(true as const),
    },
    { requiredKeys: ["id", "now", "token", "key", "value", "error"] },
  ),
  open_input: fc.record({
    ...held,
    input,
    requestHash: fc.constantFrom("h", "g"),
    deadlineAt: orNothing(now),
  }),
  close_input: fc.record({ ...held, key, error: text }),
  sleep: fc.record({ ...held, key, until: now }),
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
  fail: fc.record({ ...about, outcome, statusMessage: text }),
  expire: fc.record({
    ...about,
    outcome,
    statusMessage: text,
    visibleUntil: fc.integer({ min: 0, max: 90 }),
  }),
  request_cancel: fc.record(about),
  schedule_cancel: fc.record({ ...about, cancelBy: orNothing(now) }),
  cancel: fc.record(
    { ...about, statusMessage: text, scheduled: fc.constant(true as const) },
    { requiredKeys: ["id", "now"] },
  ),
  recover: fc.record({ now, after: id, limit: fc.constantFrom(0, 1, 2, 99) }),
  release_key: fc.record({ ...about, deleteBy: fc.nat({ max: 90 }) }, { requiredKeys: ["id", "now"] }),
  delete: fc.record(about),
  keep_secret: fc.record({ now, name: key, value: text }),
  delete_expired: fc.record({ now: fc.integer({ min: 0, max: 100 }), limit: fc.integer({ min: 0, max: 3 }) }),
};

export const commandNames = Object.keys(members) as TaskCommandName[];

/** Enough tasks, and enough that run, for the other commands to find some. */
const weights: Partial<Record<TaskCommandName, number>> = {
  create: 5,
  start: 5,
  mark: 2,
  update: 2,
  record_step: 4,
  sleep: 3,
  end_sleep: 4,
  open_input: 5,
  close_input: 4,
  schedule_cancel: 3,
  answer_inputs: 4,
  delete_expired: 2,
};

export const arbitraryCommand: fc.Arbitrary<TaskCommand> = fc.oneof(
  ...commandNames.map((type) => ({ weight: weights[type] ?? 1, arbitrary: commandOf(type) })),
);

function commandOf(type: TaskCommandName): fc.Arbitrary<TaskCommand> {
  const rest: fc.Arbitrary<object> = members[type];
  // A copy, since fast-check's records have no prototype, and what goes through a store has one.
  return rest.map((each) => structuredClone({ type, ...each }) as TaskCommand);
}

export const arbitraryLook = fc.record({
  now,
  after: fc.constantFrom("", ...ids),
  before: fc.constantFrom(null, ...ids),
  limit: fc.nat({ max: 4 }),
  key,
});
