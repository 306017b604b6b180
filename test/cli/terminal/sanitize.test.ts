import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sanitizeLine, sanitizeText } from "../../../src/cli/terminal/text.ts";

/** Text made of what hurts, between letters: fast-check's own units seldom hit on an escape sequence. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\u001b",
        "\u009b",
        "\u001b[",
        "\u001b]0;",
        "\u0007",
        "\u009c",
        "\u001b\\",
        "2J",
        "31m",
      ),
      fc.constantFrom("\u202e", "\u2066", "\u2069", "\u200b", "\ud800", "\udfff", "\r", "\u0008", "\u0085"),
      fc.string({ unit: "binary" }),
      fc.string({ unit: "grapheme" }),
    ),
  )
  .map((parts) => parts.join(""));

// oxlint-disable-next-line no-control-regex -- what must not come out
const harmful = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\p{Cs}]/u;

describe("text of servers", () => {
  it("contains nothing that a terminal obeys", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(sanitizeText(text)).not.toMatch(harmful);
        const line = sanitizeLine(text, 20);
        expect(line).not.toMatch(harmful);
        expect(line).not.toMatch(/[\n\t]/);
        expect(line.length).toBeLessThanOrEqual(20);
      }),
    );
  });

  it("is unchanged when sanitized again", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const once = sanitizeText(text);
        expect(sanitizeText(once)).toBe(once);
      }),
    );
  });

  it("keeps what people write", () => {
    const text = "Grüße, 日本語, مرحبا, 👩‍👩‍👧 می‌خواهم\n\tindented: 100 %";
    expect(sanitizeText(text)).toBe(text);
  });

  it.each([
    ["a colour", "\u001b[31mred\u001b[0m", "red"],
    ["a title", "\u001b]0;owned\u0007text", "text"],
    ["a link", "\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\", "here"],
    ["a cleared screen", "before\u001b[2Jafter", "beforeafter"],
    ["a sequence in a sequence", "\u001b\u001b[31m[2Jx", "\ufffd[2Jx"],
    ["a C1 sequence", "\u009b31mred", "red"],
    ["an override", "exe.\u202egpj", "exe.\ufffdgpj"],
    ["a deleted word", "rm -rf /\b\b\bls", "rm -rf /\ufffd\ufffd\ufffdls"],
    ["a line that is written over", "safe\rowned", "safe\nowned"],
    ["letters that are not seen", "pay\u{e0041}pal\u200b", "paypal"],
  ])("shows %s for what it is", (_name, text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
  });

  it("is one line with sanitizeLine", () => {
    expect(sanitizeLine(" a\r\n\t b\u2028c ")).toBe("a b c");
    expect(sanitizeLine("abcdef", 4)).toBe("abc…");
  });
});
