import * as fc from "fast-check";
import { ids } from "./view.ts";

const [a, b, c, d, e, f] = ids;
export const arbitraryId = fc.constantFrom(a, b, c, d, a, b, c, d, e, f);
/** Of tasks that requestors make, and of those that other tasks make. */
const ownId = fc.constantFrom(a, b, c, d);
const childId = fc.constantFrom(e, f, e, f, d);
export const text = fc.constantFrom("", "one", "two");
const ms = fc.option(fc.integer({ min: 0, max: 40 }));
export const expiry = fc.record({ from: fc.constantFrom("created" as const, "terminal" as const), ms });

const newTask = fc.record({
  scope: fc.constantFrom("", "", "s"),
  generation: fc.constantFrom("2026-07-28" as const, "2026-07-28" as const, "plain" as const),
  principal: fc.constantFrom(null, "ann", "cy"),
  method: fc.constant("tools/call" as const),
  tool: fc.constantFrom("x", "y"),
  idempotencyKey: fc.constantFrom(null, null, null, "i", "j"),
  requestHash: fc.constantFrom("h", "h", "h", "g"),
  requiredScopes: fc.constantFrom([], ["read"], ["read", "send"]),
  expiry,
  runUntil: fc.option(fc.integer({ min: 0, max: 60 })),
  pollIntervalMs: fc.integer({ min: 0, max: 9 }),
  statusMessage: fc.option(text),
});
export const task = fc
  .tuple(newTask, ownId, fc.constantFrom(undefined, undefined, undefined, "w"))
  .map(([members, own, wireId]) => ({ ...members, id: own, wireId: wireId ?? own }));
/** What a handler calls: a task that no requestor sees, and that nobody repeats. */
export const child = fc.tuple(newTask, childId).map(([members, own]) => ({
  ...members,
  generation: "child" as const,
  scope: "",
  idempotencyKey: null,
  id: own,
  wireId: own,
}));
export const request = fc.record({
  origin: fc.constantFrom({ capabilities: {} }, { requestId: 1, capabilities: { roots: {} } }),
  arguments: fc.constantFrom("{}", '{ "a":1.0 }'),
  prepared: fc.constantFrom(null, "{}"),
});

/** Mostly room for all, or there would be few tasks. */
const allowance = fc.constantFrom(
  ...Array.from({ length: 6 }, () => ({ unfinished: null, retained: null })),
  { unfinished: 1, retained: null },
  { unfinished: 3, retained: 4 },
  { unfinished: null, retained: 2 },
);
export const quota = fc.record({ perPrincipal: allowance, total: allowance });
