import { expect, it } from "vitest";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { callKey, furtherKey, isCallKey } from "../../../src/server/plain/call-keys.ts";
import { KeyClaims, Tried } from "../../../src/server/plain/call-tasks.ts";
import { scopeOf, type PlainCall } from "../../../src/server/plain/plain-call.ts";
import type { KeyedTask } from "../../../src/store/store.ts";

it("tells owners apart by their principals, else by their sessions", () => {
  const [ann, session, nobody] = [
    { principal: "ann", session: "s" },
    { principal: null, session: "s" },
    { principal: null, session: undefined },
  ];
  expect([ann, session, nobody].map(scopeOf)).toEqual(["principal:ann", "session:s", undefined]);
  expect(callKey({}, nobody, "t", {})).toBeUndefined();
  // A principal's sessions share its calls.
  expect(callKey({}, ann, "t", {})).toBe(callKey({}, { ...ann, session: "other" }, "t", undefined));
  expect(callKey({}, session, "t", {})).not.toBe(callKey({}, { ...session, session: "other" }, "t", {}));
  // Another tenant of the same person means other data.
  const tenants = [undefined, {}, { org: "a" }, { org: "b" }].map((claims) =>
    callKey({}, ann, "t", {}, claims),
  );
  expect(tenants[1]).toBe(tenants[0]);
  expect(new Set(tenants).size).toBe(3);
  expect([callKey({}, session, "t", { a: 1 }) ?? null, "k".repeat(22), null].map(isCallKey)).toEqual([
    true,
    false,
    false,
  ]);
});

const callOf = (principal: string, isWaitedFor = true): PlainCall =>
  ({ owner: { principal, session: undefined }, isWaitedFor: () => isWaitedFor }) as PlainCall;

/** Claims of the call `k`, whose tasks are `keyed`; a call waits for those in `awaited`. */
function claimsOf(keyed: readonly KeyedTask[], awaited: readonly string[] = []): KeyClaims {
  let names = 0;
  const runtime = {
    clock: { uniqueName: () => `${++names}`, now: () => 0, elapsed: () => 0 },
    withKeys: async (_principal: string, _prefix: string, limit: number) => keyed.slice(0, limit),
  };
  const isAwaited = (id: string): boolean => awaited.includes(id);
  const onLeave = () => () => undefined;
  return new KeyClaims(runtime as unknown as Runtime, { isAwaited, callersOf: () => new Map(), onLeave });
}

const many: readonly KeyedTask[] = Array.from({ length: 40 }, (_, index) => ({
  id: `t${index}`,
  key: index === 0 ? "k" : furtherKey("k", String(100 + index)),
}));
const ids = many.map(({ id }) => id);

it.each<[string, KeyClaims, readonly string[], object]>([
  ["the key of the call if no task has it", claimsOf([]), [], { key: "k", task: undefined }],
  ["that of a task that nobody waits for", claimsOf(many.slice(0, 1)), [], { key: "k", task: "t0" }],
  ["another one if a call waits", claimsOf(many.slice(0, 1), ["t0"]), [], { key: "k#1", task: undefined }],
  ["another one if the task cannot be joined", claimsOf(many.slice(0, 1)), ["t0"], { key: "k#1" }],
  ["that of the one task of many", claimsOf(many, ids.slice(0, 39)), [], { key: "k#139", task: "t39" }],
  ["another one if calls wait for all", claimsOf(many, ids), [], { key: "k#1", task: undefined }],
])("claims %s", async (_, claims, gone, expected) => {
  const tried = new Tried();
  for (const id of gone) tried.gone.add(id);
  expect(await claims.claim("k", callOf("ann"), tried)).toMatchObject(expected);
});

it("claims a key for one call of a principal at a time, as long as that is connected", async () => {
  const claims = claimsOf([]);
  const claim = (principal: string, isWaitedFor?: boolean): ReturnType<KeyClaims["claim"]> =>
    claims.claim("k", callOf(principal, isWaitedFor), new Tried());
  const first = await claim("ann", false);
  const retry = await claim("ann");
  const other = await claim("ann");
  expect([first, retry, other, await claim("bob")].map(({ key }) => key)).toEqual(["k", "k", "k#1", "k"]);
  for (const { release } of [first, retry, retry]) release();
  expect((await claim("ann")).key).toBe("k");
});
