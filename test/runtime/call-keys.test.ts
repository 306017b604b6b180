import { expect, it } from "vitest";
import { callKeys, furtherKey, isCallKey, isKeyOf, sessionOfKey } from "../../src/runtime/call-keys.ts";
import { scopeOf } from "../../src/server/plain/plain-policies.ts";

const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const secret = { current: first, accepted: [first] };
const call = { principal: "ann", session: "s", tool: "t", arguments: {} };
const keyOf = (change: object = {}): string | undefined => callKeys(secret, { ...call, ...change })?.key;

it("tells owners apart by their principals, else by their sessions", () => {
  const [ann, session, nobody] = [
    { principal: "ann", session: "s" },
    { principal: null, session: "s" },
    { principal: null, session: undefined },
  ];
  expect([ann, session, nobody].map(scopeOf)).toEqual(["principal:ann", "session:s", undefined]);
  expect(keyOf(nobody)).toBeUndefined();
  // A principal's sessions share its calls.
  expect(keyOf(ann)).toBe(keyOf({ ...ann, session: "other", arguments: undefined }));
  expect(keyOf(session)).not.toBe(keyOf({ ...session, session: "other" }));
  // Another tenant of the same person means other data.
  const tenants = [undefined, {}, { org: "a" }, { org: "b" }].map((claims) => keyOf({ claims }));
  expect(tenants[1]).toBe(tenants[0]);
  expect(new Set(tenants).size).toBe(3);
  const own = keyOf({ ...session, arguments: { a: 1 } });
  expect([own ?? null, "k".repeat(22), null].map(isCallKey)).toEqual([true, false, false]);
  expect([own ?? "", furtherKey(own ?? "", "n"), keyOf() ?? ""].map(sessionOfKey)).toEqual([
    "s",
    "s",
    undefined,
  ]);
});

it("has a key of each version of the secret, the current one first", () => {
  const both = callKeys({ current: second, accepted: [second, first] }, call);
  expect(both?.others).toEqual([keyOf()]);
  expect(both?.key).toBe(callKeys({ current: second, accepted: [second] }, call)?.key);
  expect(both?.key).not.toBe(keyOf());
  const key = keyOf() ?? "";
  expect([key, furtherKey(key, "n"), `${key}n`, both?.key ?? ""].map((each) => isKeyOf(each, [key]))).toEqual(
    [true, true, false, false],
  );
});
