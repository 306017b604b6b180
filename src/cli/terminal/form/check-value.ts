import { losesDigits } from "../../arguments/exact-json.ts";
import type { ChoicesField, NumberField, TextField } from "./form-field.ts";

/** Why `text` is not valid for the field, as a sentence; undefined if it is. */
export function checkText(text: string, field: TextField): string | undefined {
  const { minLength = 0, maxLength = Infinity, format = "" } = field;
  const length = Array.from(text).length; // JSON Schema counts code points
  if (length < minLength) return `Enter at least ${count(minLength, "character")}; this has ${length}.`;
  if (length > maxLength) return `Enter at most ${count(maxLength, "character")}; this has ${length}.`;
  const rule = formats.get(format);
  return rule === undefined || rule.test(text) ? undefined : rule.problem;
}

/** The same for a number. */
export function checkNumber(text: string, field: NumberField): string | undefined {
  const value = numberFrom(text);
  if (value === undefined) return "Enter a number.";
  const { integer, minimum = -Infinity, maximum = Infinity } = field;
  if (integer && !Number.isInteger(value)) return "Enter a whole number.";
  // A number with too many digits would change as a JSON number.
  if (losesDigits(text.trim()) || (integer && !Number.isSafeInteger(value)))
    return "This number is too long to be sent exactly.";
  if (value < minimum) return `Enter ${minimum} or more.`;
  if (value > maximum) return `Enter ${maximum} or less.`;
  return undefined;
}

/** The same for the number of choices. */
export function checkChoices(chosen: readonly string[], field: ChoicesField): string | undefined {
  const { minItems = 0, maxItems = Infinity } = field;
  if (chosen.length < minItems) return `Choose at least ${minItems}; you chose ${chosen.length}.`;
  if (chosen.length > maxItems) return `Choose at most ${maxItems}; you chose ${chosen.length}.`;
  return undefined;
}

/** Parses a JSON number, with spaces around it. */
export function numberFrom(text: string): number | undefined {
  if (!/^\s*-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Describes a field's limits, if it has any. */
export function limitsOf(field: TextField | NumberField | ChoicesField): string | undefined {
  switch (field.kind) {
    case "text": {
      const length = range(field.minLength, field.maxLength);
      const format =
        field.format === undefined ? undefined : (formats.get(field.format)?.name ?? field.format);
      const pattern = field.pattern === undefined ? undefined : `pattern ${field.pattern}`;
      return joined(format, length === undefined ? undefined : `${length} characters`, pattern);
    }
    case "number":
      return joined(field.integer ? "whole number" : "number", range(field.minimum, field.maximum));
    case "choices":
      return joined(range(field.minItems, field.maxItems));
  }
}

function joined(...parts: readonly (string | undefined)[]): string | undefined {
  const limits = parts.filter((part) => part !== undefined);
  return limits.length === 0 ? undefined : limits.join(", ");
}

function range(low: number | undefined, high: number | undefined): string | undefined {
  if (low !== undefined && high !== undefined) return low === high ? `exactly ${low}` : `${low} to ${high}`;
  if (low !== undefined) return `at least ${low}`;
  return high === undefined ? undefined : `at most ${high}`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

interface Format {
  readonly name: string;
  readonly problem: string;
  test(text: string): boolean;
}

/** The formats of elicitation. */
const formats: ReadonlyMap<string, Format> = new Map([
  [
    "email",
    {
      name: "email address",
      problem: "Enter an email address, such as ann@example.com.",
      test: (text: string) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
    },
  ],
  [
    "uri",
    {
      name: "URI",
      problem: "Enter a full URL, such as https://example.com/page.",
      test: (text: string) => !/\s/.test(text) && URL.canParse(text),
    },
  ],
  ["date", { name: "date, YYYY-MM-DD", problem: "Enter a date, such as 2026-07-28.", test: isDate }],
  [
    "date-time",
    {
      name: "date and time, such as 2026-07-28T14:30:00Z",
      problem:
        "Enter a date and time with its zone, such as 2026-07-28T14:30:00Z or 2026-07-28T14:30:00+02:00.",
      test: isDateTime,
    },
  ],
]);

const timeOfDay =
  /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

function isDateTime(text: string): boolean {
  const [, date = "", time = ""] = /^(.{10})[Tt ](.+)$/.exec(text) ?? [];
  return isDate(date) && timeOfDay.test(time);
}

/** `Date` alone accepts 30 February as 2 March. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
