import { stripVTControlCharacters, styleText } from "node:util";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { duration, fit, statusLine, type Status } from "../../../src/cli/terminal/text.ts";
import { Screen } from "./screen.ts";

const plain = { frame: 0, unicode: true, paint: (_format: string, text: string) => text } as const;
const status: Status = {
  what: "render",
  message: "page 3 of many",
  progress: 3,
  total: 10,
  elapsedMs: 7_400,
};

it("shows the parts that fit", () => {
  const line = (columns: number): string => statusLine(status, { ...plain, columns });
  expect(line(80)).toBe("⠋ render · ████░░░░░░░░░░░░ 30% · page 3 of many 7s");
  expect(line(48)).toBe("⠋ render · 30% · page 3 of many 7s");
  expect(line(30)).toBe("⠋ render · 30% · page 3 o… 7s");
  expect(line(10)).toBe("⠋ ren… 7s");
  expect(line(4)).toBe("7s");
  expect(line(1)).toBe("");
});

it("uses ASCII on terminals without Unicode", () => {
  const line = statusLine(status, { ...plain, unicode: false, columns: 70 });
  expect(line).toBe("- render - ####------------ 30% - page 3 of many 7s");
});

it.each([
  [{ progress: 3 }, "3"],
  [{ progress: 5, total: 0 }, "5"],
  [{ progress: 0.004 }, undefined],
  [{ progress: 50, total: 10 }, "100%"],
  [{ progress: -1, total: 10 }, "0%"],
  [{ progress: Number.NaN, total: 10 }, undefined],
])("makes of the progress %j: %s", (progress, shown) => {
  const line = statusLine({ what: "x", elapsedMs: 0, ...progress }, { ...plain, columns: 40 });
  expect(line).toBe(shown === undefined ? "⠋ x 0s" : `⠋ x · ${shown} 0s`);
});

it("is never wider than a row, as a terminal counts", async () => {
  // Without joined emoji, of which each terminal has its own measure.
  const words = fc.string({ unit: fc.constantFrom("a", " ", "é", "日", "🎉", "e\u0301", "ｱ", "한") });
  const line = fc.record({ what: words, message: words, columns: fc.integer({ min: 4, max: 60 }) });
  await fc.assert(
    fc.asyncProperty(line, async ({ what, message, columns }) => {
      const text = statusLine({ what, message, elapsedMs: 1_000 }, { ...plain, columns, paint: styleText });
      const screen = new Screen(columns, 4);
      await screen.write(`${text}\r`);
      expect(screen.cursor).toEqual({ x: 0, y: 0 });
    }),
    { numRuns: 200 },
  );
});

it("counts no colours", () => {
  const painted = statusLine(status, {
    ...plain,
    columns: 48,
    paint: (format, text) => styleText(format, text, { validateStream: false }),
  });
  expect(painted).not.toBe(stripVTControlCharacters(painted));
  expect(stripVTControlCharacters(painted)).toBe(statusLine(status, { ...plain, columns: 48 }));
});

it.each([
  [-5, "0s"],
  [59_999, "59s"],
  [185_000, "3m 05s"],
  [7_500_000, "2h 05m"],
  [266_400_000, "3d 02h"],
])("writes %d ms as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it("cuts between characters", () => {
  expect(fit("ｱｱ · a", 1, true)).toBe("…");
  expect(fit("ｱｱ · a", 3, true)).toBe("ｱｱ…");
  expect(fit("日本語", 5, true)).toBe("日本…");
  expect(fit("日本語", 6, true)).toBe("日本語");
  expect(fit("abc", 0, true)).toBe("");
});
