import { expect, it } from "vitest";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { furtherKey } from "../../../src/runtime/call-keys.ts";
import { KeyClaims, Tried } from "../../../src/server/plain/call-tasks.ts";
import type { PlainCall } from "../../../src/server/plain/plain-policies.ts";
import type { KeyedTask } from "../../../src/store/store.ts";

const callOf = (principal: string, isWaitedFor = true): PlainCall =>
  ({ owner: { principal, session: undefined }, isWaitedFor: () => isWaitedFor }) as PlainCall;

/** Claims of the call `k`, whose tasks are `keyed`; a call waits for those in `awaited`. */
function claimsOf(keyed: readonly KeyedTask[], awaited: readonly string[] = []): KeyClaims {
  let names = 0;
  const runtime = {
    clock: { uniqueName: () => `${++names}`, now: () => 0, elapsed: () => 0 },
    withKeys: async (_principal: string, prefix: string, limit: number) =>
      keyed.filter(({ key }) => key.startsWith(prefix)).slice(0, limit),
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
  expect(await claims.claim({ key: "k", others: [] }, callOf("ann"), tried)).toMatchObject(expected);
});

it("claims a task that has an earlier key of the call", async () => {
  const claims = claimsOf([{ id: "t0", key: "earlier" }]);
  const tried = new Tried();
  expect(await claims.claim({ key: "k", others: ["earlier"] }, callOf("ann"), tried)).toMatchObject({
    key: "earlier",
    task: "t0",
  });
  tried.gone.add("t0");
  expect(await claims.claim({ key: "k", others: ["earlier"] }, callOf("ann"), tried)).toMatchObject({
    key: "k",
    task: undefined,
  });
});

it("claims a key for one call of a principal at a time, as long as that is connected", async () => {
  const claims = claimsOf([]);
  const claim = (principal: string, isWaitedFor?: boolean): ReturnType<KeyClaims["claim"]> =>
    claims.claim({ key: "k", others: [] }, callOf(principal, isWaitedFor), new Tried());
  const first = await claim("ann", false);
  const retry = await claim("ann");
  const other = await claim("ann");
  expect([first, retry, other, await claim("bob")].map(({ key }) => key)).toEqual(["k", "k", "k#1", "k"]);
  for (const { release } of [first, retry, retry]) release();
  expect((await claim("ann")).key).toBe("k");
});
