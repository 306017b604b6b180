import fc from "fast-check";
import { expect, it } from "vitest";
import { readBearer, Scopes } from "../../../src/server/auth/oauth-resource.ts";

const scopes = new Scopes({ required: ["all"], tools: { send: ["send"] }, tasks: ["tasks"] });
const odd = fc.constantFrom(
  "__proto__",
  "constructor",
  "toString",
  "send",
  "tools/call",
  "tasks/",
  "tasks/get",
);

it("finds what any body needs, and always what everything needs", () => {
  const value = fc.oneof(fc.jsonValue(), odd);
  const message = fc.record({ method: value, params: fc.oneof(value, fc.record({ name: value })) });
  fc.assert(
    fc.property(fc.oneof(value, message, fc.array(message)), (body) => {
      const needed = scopes.neededFor(body);
      expect(needed.has("all")).toBe(true);
      expect([...needed].every((scope) => ["all", "send", "tasks"].includes(scope))).toBe(true);
    }),
  );
});

it("finds a guarded message wherever it stands in a batch", () => {
  const guarded = fc.constantFrom(
    { message: { method: "tools/call", params: { name: "send" } }, scope: "send" },
    { message: { method: "tasks/get", params: null }, scope: "tasks" },
    {
      message: { method: "subscriptions/listen", params: { notifications: { taskIds: [] } } },
      scope: "tasks",
    },
  );
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      guarded,
      fc.array(fc.jsonValue()),
      (before, { message, scope }, after) => {
        expect(scopes.neededFor([...before, message, ...after]).has(scope)).toBe(true);
      },
    ),
  );
});

it("reads no token from a header that has more than one in it, or anything besides", () => {
  const header = fc.oneof(
    fc.stringMatching(/^[\x20-\x7e]*$/),
    fc.stringMatching(/^Bearer [\x20-\x7e]*$/),
    fc.stringMatching(/^bearer +[A-Za-z0-9._~+/-]+=*$/),
  );
  fc.assert(
    fc.property(header, (authorization) => {
      const { token } = readBearer(
        new Request("https://reports.example.com/mcp", { headers: { authorization } }),
      );
      expect(token ?? "a").toMatch(/^[A-Za-z0-9._~+/-]+=*$/);
      if (token !== undefined) expect(authorization.trim().split(/ +/)).toEqual([expect.anything(), token]);
    }),
  );
});

it("reads no token that is longer than any header", () => {
  const headers = { authorization: `Bearer ${"a".repeat(20_000)}` };
  expect(readBearer(new Request("https://reports.example.com/mcp", { headers }))).toEqual({
    instead: "malformed",
  });
});
