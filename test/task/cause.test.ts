import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { causeOf, messagePattern, siteIn } from "../../src/task/cause.ts";

/** Letters and digits at random, as many programs make ids. */
const randomId = (n: number): string => (((n + 1) * 0.618033988749895) % 1).toString(36).slice(2, 12);

describe("what varies between failures of one cause", () => {
  const same: readonly (readonly [string, ...string[]])[] = [
    [
      "order … is gone",
      "order 17 is gone",
      "order 550e8400-e29b-41d4-a716-446655440000 is gone",
      "order a-17_b is gone",
    ],
    [
      "User … not found",
      'User "Ann O\'Neil" not found',
      "User 'Bob' not found",
      "User `x y` not found",
      "User “Ö” not found",
    ],
    ["Cannot reach …", "Cannot reach https://a.example/x?y=1", "Cannot reach http://10.0.0.1:80/"],
    ["… has no account", "ann@example.org has no account", "bob.b+c@mail.example.com has no account"],
    ["ids […] failed", "ids [1] failed", "ids [1, 22, 333] failed"],
    ["connect ECONNREFUSED …", "connect ECONNREFUSED 127.0.0.1:5432"],
    ["token … expired", "token xkqzvbnmrt expired", "token aBcXqZrTYoP expired"],
  ];
  test.each(same)("%s", (pattern, ...messages) => {
    for (const message of messages) expect(messagePattern(message)).toBe(pattern);
  });

  test.each([
    "don't retry: it isn't allowed, and it won't be",
    "Cannot read properties of undefined",
    "Payment gateway timeout",
    "Insufficient permission for workspace settings",
    "getaddrinfo ENOTFOUND payments.internal.example",
    "Verfügbarkeit überschritten",
  ])("words stay: %s", (message) => expect(messagePattern(message)).toBe(message));

  test("ids at random make one cause, and another sentence makes another", () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => randomId(n));
    const causes = new Set(ids.map((id) => causeOf("charge", `Gateway answered 502 for order ${id}`)));
    expect(causes.size).toBe(1);
    expect(causes.has(causeOf("charge", `Card of order ${randomId(1)} has expired`))).toBe(false);
  });
});

test("the tool, the step, the place, and the name, code and words of the error each make another cause", () => {
  const failure = { name: "Error", code: "E1", site: "charge (orders.ts)" };
  const causes = [
    causeOf("a", "It failed", failure),
    causeOf("b", "It failed", failure),
    causeOf("a", "It broke", failure),
    causeOf("a", "It failed", { ...failure, name: "TypeError" }),
    causeOf("a", "It failed", { ...failure, code: "E2" }),
    causeOf("a", "It failed", { ...failure, site: "refund (orders.ts)" }),
    causeOf("a", "It failed", { ...failure, step: "charge" }),
    causeOf("a", "It failed", { ...failure, step: "refund" }),
    causeOf("a", "It failed"),
  ];
  expect(new Set(causes).size).toBe(causes.length);
  expect(causeOf("a", "It failed", { step: '["pay","order 17"]' })).toBe(
    causeOf("a", "It failed", { step: '["pay","order 18"]' }),
  );
});

test("what a step threw has the same cause after a crash, when its stack is gone", () => {
  const step = "charge";
  expect(causeOf("a", "It failed", { step, site: "run (a.ts)" })).toBe(causeOf("a", "It failed", { step }));
});

test("a cause is short, contains none of the text, and is the same each time", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (tool, message) => {
      const cause = causeOf(tool, message);
      expect(cause).toMatch(/^c[0-9a-f]{16}$/);
      expect(causeOf(tool, message)).toBe(cause);
    }),
  );
});

test("the place is the innermost of the author's, without lines", () => {
  const stack = [
    "Error: at once (x.ts:1:1)",
    "    at fail (node:internal/x:1:1)",
    "    at Client.send (/app/node_modules/pg/lib/client.js:10:3)",
    "    at async charge (file:///app/src/orders.ts?v=2:41:11)",
    "    at other (/app/src/other.ts:1:1)",
  ];
  expect(siteIn(stack.join("\n"))).toBe("charge (orders.ts)");
  expect(siteIn("Error\n    at C:\\app\\orders.ts:1:1")).toBe("orders.ts");
  expect(siteIn("Error: nothing")).toBeUndefined();
  expect(siteIn(undefined)).toBeUndefined();
});
