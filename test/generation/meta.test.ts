import { expect, it } from "vitest";
import { metaOf, withMeta } from "../../src/generation/message.ts";

it("is what stands in _meta, and nothing where that is no object", () => {
  expect(metaOf({ _meta: { a: 1 } })).toEqual({ a: 1 });
  for (const params of [undefined, null, 5, [], {}, { _meta: null }, { _meta: [1] }, { _meta: "a" }]) {
    expect(metaOf(params)).toEqual({});
  }
});

it("takes more beside what is there, and leaves all else in its place", () => {
  const result = JSON.parse('{"__proto__":{"x":1},"_meta":{"a":1,"b":2},"z":[]}') as Record<string, unknown>;
  expect(JSON.stringify(withMeta(result, { b: 3, c: 4 }))).toBe(
    '{"__proto__":{"x":1},"_meta":{"a":1,"b":3,"c":4},"z":[]}',
  );
});
