import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeCursor, readCursor } from "../../src/generation/message.ts";

it("starts at the beginning without a cursor [C-070 S-044]", () => {
  for (const params of [undefined, null, {}, { cursor: undefined }]) {
    expect(readCursor(params)).toBeUndefined();
  }
});

it("takes back the cursor that it gave out, which shows nothing of the id [C-070 S-048]", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (id) => {
      const cursor = encodeCursor(id);
      expect(cursor).toMatch(/^[\w-]+$/);
      expect(readCursor({ cursor })).toBe(id);
    }),
  );
  expect(encodeCursor("task-a")).not.toContain("task");
});

const good = encodeCursor("task-a");
it.each([
  "garbage",
  "",
  "task-a",
  `${good}=`,
  `${good}!`,
  ` ${good}`,
  good.slice(0, -1),
  Buffer.from("task-a").toString("base64url"),
  Buffer.from("2:task-a").toString("base64url"),
  Buffer.from("1:").toString("base64url"),
  Buffer.from([0x31, 0x3a, 0xff]).toString("base64url"),
  null,
  5,
  {},
])("refuses the cursor %j [C-110 S-076]", (cursor) => {
  expect(() => readCursor({ cursor })).toThrow(expect.objectContaining({ code: "invalid_params" }));
  expect(() => readCursor({ cursor })).toThrow("params.cursor");
});

it("refuses what it would not have given out [C-110]", () => {
  fc.assert(
    fc.property(fc.string(), (cursor) => {
      let id: string | undefined;
      try {
        id = readCursor({ cursor });
      } catch {
        return;
      }
      expect(encodeCursor(id ?? "")).toBe(cursor);
    }),
  );
});
