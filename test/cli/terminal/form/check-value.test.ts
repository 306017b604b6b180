import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkChoices,
  checkNumber,
  checkText,
  limitsOf,
  numberFrom,
} from "../../../../src/cli/terminal/form/ask-form.ts";
import type {
  ChoicesField,
  NumberField,
  TextField,
} from "../../../../src/cli/terminal/form/question-text.ts";

const base = { key: "k", title: "K", required: true };
const textField = (rest: Partial<TextField>): TextField => ({ ...base, kind: "text", ...rest });
const numberField = (rest: Partial<NumberField>): NumberField => ({
  ...base,
  kind: "number",
  integer: false,
  ...rest,
});

describe("text", () => {
  it.each([
    ["email", ["ann@example.com", "a.b+c@x.example"], ["ann", "ann@", "a b@example.com", "@example.com"]],
    [
      "uri",
      ["https://example.com/a?b=c", "urn:isbn:1", "mailto:a@b.c"],
      ["example.com", "https://a b", "//x"],
    ],
    [
      "date",
      ["2026-07-28", "2024-02-29"],
      ["2026-02-29", "2026-13-01", "28.7.2026", "2026-7-1", "2026-07-28Z"],
    ],
    [
      "date-time",
      ["2026-07-28T14:30:00Z", "2026-07-28T14:30:00.5+02:00", "2016-12-31T23:59:60Z"],
      ["2026-07-28T14:30:00", "2026-07-28", "2026-02-30T00:00:00Z", "2026-07-28T24:00:00Z"],
    ],
    ["zip-code", ["whatever"], []],
    ["constructor", ["whatever"], []],
  ])("of the format %s", (format, good, bad) => {
    const field = textField({ format });
    for (const text of good) expect([text, checkText(text, field)]).toEqual([text, undefined]);
    for (const text of bad) expect([text, checkText(text, field)]).toEqual([text, expect.any(String)]);
  });

  it("takes every moment that a machine writes", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") }), (date) => {
        expect(checkText(date.toISOString(), textField({ format: "date-time" }))).toBeUndefined();
        expect(checkText(date.toISOString().slice(0, 10), textField({ format: "date" }))).toBeUndefined();
      }),
    );
  });

  it("counts its characters as JSON Schema does", () => {
    const field = textField({ minLength: 2, maxLength: 3 });
    expect(checkText("😀", field)).toMatch(/at least 2 characters.*has 1/i);
    expect(checkText("😀😀😀", field)).toBeUndefined();
    expect(checkText("abcd", field)).toMatch(/at most 3/i);
    expect(checkText("", textField({ minLength: 1 }))).toMatch(/at least 1 character;/i);
  });
});

describe("numbers", () => {
  it.each(["1", "-2.5", "1e3", " 7 ", "007"])("takes %j", (text) => {
    expect(checkNumber(text, numberField({}))).toBeUndefined();
  });

  it.each(["", " ", "1,5", "0x10", "Infinity", "NaN", "1e999", "7 apples", "+1", ".5"])(
    "refuses %j",
    (text) => {
      expect(checkNumber(text, numberField({}))).toBe("Enter a number.");
    },
  );

  it("reads back what it is written as", () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(finite, (value) => {
        expect(numberFrom(String(value))).toBe(value + 0); // -0 is written as 0
      }),
    );
  });

  it("are checked for bounds and for whole numbers", () => {
    const field = numberField({ integer: true, minimum: 1, maximum: 10 });
    expect(checkNumber("1", field)).toBeUndefined();
    expect(checkNumber("10", field)).toBeUndefined();
    expect(checkNumber("0", field)).toMatch(/1 or more/);
    expect(checkNumber("11", field)).toMatch(/10 or less/);
    expect(checkNumber("2.5", field)).toMatch(/whole/);
    expect(checkNumber("9007199254740993", numberField({ integer: true }))).toMatch(/exactly/);
  });
});

it("counts choices", () => {
  const field: ChoicesField = { ...base, kind: "choices", choices: [], minItems: 1, maxItems: 2 };
  expect(checkChoices([], field)).toMatch(/at least 1/);
  expect(checkChoices(["a", "b"], field)).toBeUndefined();
  expect(checkChoices(["a", "b", "c"], field)).toMatch(/at most 2/);
});

it("describes limits", () => {
  expect(limitsOf(textField({}))).toBeUndefined();
  expect(limitsOf(textField({ format: "date", pattern: "^2" }))).toBe("date, YYYY-MM-DD, pattern ^2");
  expect(limitsOf(textField({ minLength: 3, maxLength: 3 }))).toBe("exactly 3 characters");
  expect(limitsOf(numberField({ integer: true, minimum: 0 }))).toBe("whole number, at least 0");
  expect(limitsOf({ ...base, kind: "choices", choices: [], minItems: 1, maxItems: 2 })).toBe("1 to 2");
});
