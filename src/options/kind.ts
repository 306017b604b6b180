import { millisecondsOf } from "../task/time.ts";

/** What an option or a variable accepts. Words are in English, with code between backticks. */
export interface Kind {
  /** What a value must be, as the end of "… must be". */
  readonly words: string;
  /** How it is written in code, and in the text of a variable, where the words do not say it. */
  readonly inCode?: string;
  readonly inText?: string;
  /** What else is accepted, as it is written in code and in text. */
  readonly or?: { readonly inCode: string; readonly inText: string };
  readonly accepts: (value: unknown) => boolean;
  /** The value that code works with, of one that `accepts` accepts. Left out: the same. */
  readonly read?: (value: unknown) => unknown;
  /** The value of a text, to be checked by `accepts`. Left out: it cannot be written as text. */
  readonly parse?: (text: string) => unknown;
  /** A value as the text of a variable. */
  readonly textOf: (value: unknown) => string;
  /** A value for people. */
  readonly wordsOf: (value: unknown) => string;
}

interface Unit {
  readonly noun: string;
  readonly inCode?: string;
  readonly inText?: string;
  readonly parse: (text: string) => number;
  /** What code may give instead of a number. */
  readonly read?: (value: unknown) => unknown;
  readonly parts: readonly Part[];
}

/** A number that is written in a larger unit if that divides it. */
type Part = readonly [text: string, words: string, size: number];

const units = {
  number: { noun: "number", parse: digitsIn, parts: [] },
  time: {
    noun: "length of time",
    inCode: 'in milliseconds or such as `"3d"`',
    inText: "such as 30s, 5m, 48h, 7d or a number of milliseconds",
    parse: millisecondsIn,
    read: (value) => (typeof value === "string" ? millisecondsInCode(value) : value),
    parts: [
      ["d", " day", 86_400_000],
      ["h", " hour", 3_600_000],
      ["m", " minute", 60_000],
      ["s", " second", 1_000],
      ["ms", " ms", 1],
    ],
  },
  size: {
    noun: "size",
    inCode: "in bytes",
    inText: "such as 512KiB, 4MiB, 1GiB or a number of bytes",
    parse: bytesIn,
    parts: [
      ["GiB", " GiB", 1024 ** 3],
      ["MiB", " MiB", 1024 ** 2],
      ["KiB", " KiB", 1024],
      ["", " byte", 1],
    ],
  },
} as const satisfies Readonly<Record<string, Unit>>;

export interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Whether fractions are accepted too. */
  readonly fractions?: true;
}

/** A number: plain, in milliseconds, or in bytes. Without `fractions` it is at most what a number can hold exactly. */
export function numberKind(
  unit: keyof typeof units,
  { min = -Infinity, max = Infinity, fractions }: Range,
): Kind {
  const { noun, parse, parts, ...written }: Unit = units[unit];
  const article = unit !== "number" ? "a " : fractions ? "a " : "a whole ";
  const shown = (value: number): string => textOf(parts, value);
  const least =
    min === -Infinity || (min === 0 && unit !== "number")
      ? ""
      : min === 1 && unit !== "number"
        ? " above 0"
        : ` of at least ${shown(min)}`;
  const isNumber = fractions ? Number.isFinite : Number.isSafeInteger;
  return {
    ...written,
    words: `${article}${noun}${max === Infinity ? least : ` from ${shown(min)} to ${shown(max)}`}`,
    accepts: (given) => {
      const found = written.read?.(given) ?? given;
      return isNumber(found) && Number(found) >= min && Number(found) <= max;
    },
    parse,
    textOf: (value) => shown(Number(value)),
    wordsOf: (value) => wordsOf(parts, Number(value)),
  };
}

/** The largest part that divides a value; the last one divides all. */
function partOf(parts: readonly Part[], value: number): Part {
  return parts.find(([, , size]) => value > 0 && value % size === 0) ?? parts.at(-1) ?? ["", "", 1];
}

function textOf(parts: readonly Part[], value: number): string {
  const [text, , size] = partOf(parts, value);
  return `${value / size}${text}`;
}

function wordsOf(parts: readonly Part[], value: number): string {
  const [, words, size] = partOf(parts, value);
  const isMany = value !== size && /^ [a-z]{3}/.test(words);
  return `${(value / size).toLocaleString("en")}${words}${isMany ? "s" : ""}`;
}

function digitsIn(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** In a variable everything is a text. */
function millisecondsIn(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : millisecondsInCode(text);
}

function millisecondsInCode(text: string): number {
  try {
    return millisecondsOf(text);
  } catch {
    return Number.NaN;
  }
}

const sizes: Readonly<Record<string, number>> = { "": 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

function bytesIn(text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)?$/.exec(text) ?? [];
  return Number(amount) * (sizes[unit] ?? Number.NaN);
}

const code = (value: unknown): string => `\`${String(value)}\``;

export const flagKind: Kind = {
  words: "`true` or `false`",
  accepts: (value) => typeof value === "boolean",
  parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  textOf: String,
  wordsOf: code,
};

/** Text of which `isOne` is true. */
export function textKind(words: string, isOne: (text: string) => boolean = () => true): Kind {
  return {
    words,
    accepts: (value) => typeof value === "string" && isOne(value),
    parse: (text) => text,
    textOf: String,
    wordsOf: code,
  };
}

/** One of several words. */
export function choiceKind(choices: readonly string[]): Kind {
  return textKind(listed(choices.map(code), "or"), (text) => choices.includes(text));
}

/** A list of what `each` accepts. `words` names several of them. */
export function listKind(words: string, each: Kind): Kind {
  return {
    words,
    inCode: "as a list",
    inText: "with commas between them",
    accepts: (value) => Array.isArray(value) && value.every((one) => each.accepts(one)),
    parse: (text) => text.split(",").map((one) => each.parse?.(one.trim())),
    textOf: (value) => [value].flat().map(each.textOf).join(","),
    wordsOf: (value) => listed([value].flat().map(each.wordsOf), "and"),
  };
}

/** One or more of several words. */
export function choicesKind(choices: readonly string[]): Kind {
  const list = listKind(`one or more of ${listed(choices.map(code), "and")}`, choiceKind(choices));
  return { ...list, accepts: (value) => list.accepts(value) && [value].flat().length > 0 };
}

/** Anything else: functions and objects, which only code can give. */
export function valueKind(words: string, accepts: (value: unknown) => boolean): Kind {
  return { words, accepts, textOf: String, wordsOf: code };
}

/** What `kind` accepts, or one value more: in a text it is the word that is given. */
export function orKind(kind: Kind, value: unknown, word = String(value)): Kind {
  const isOther = (given: unknown): boolean => given === value;
  const inCode = typeof value === "string" ? `\`"${value}"\`` : code(value);
  const { or } = kind;
  return {
    ...kind,
    or: {
      inCode: or === undefined ? inCode : `${or.inCode} or ${inCode}`,
      inText: or === undefined ? code(word) : `${or.inText} or ${code(word)}`,
    },
    accepts: (given) => isOther(given) || kind.accepts(given),
    ...(kind.read && { read: (given: unknown) => (isOther(given) ? given : kind.read?.(given)) }),
    parse: (text) => (text === word ? value : kind.parse?.(text)),
    textOf: (given) => (isOther(given) ? word : kind.textOf(given)),
    wordsOf: (given) => (isOther(given) ? inCode : kind.wordsOf(given)),
  };
}

function listed(words: readonly string[], last: "and" | "or"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
