import { millisecondsOf } from "../task/time-span.ts";

/** What a variable accepts. */
export interface Kind<T> {
  /** In words, for messages and for the table of variables. */
  readonly takes: string;
  /** How to write it, if words do not say that. */
  readonly written?: string;
  /** The value of a non-empty text; undefined if the text is invalid. */
  readonly read: (text: string) => T | undefined;
}

/** The unit of a number. */
export type Unit = "number" | "time" | "size";

export interface Range {
  readonly min: number;
  readonly max?: number;
}

interface UnitForm {
  readonly noun: string;
  readonly written?: string;
  readonly read: (text: string) => number;
  readonly show: (value: number) => string;
}

const units: Readonly<Record<Unit, UnitForm>> = {
  number: {
    noun: "a whole number",
    read: (text) => (/^\d+$/.test(text) ? Number(text) : NaN),
    show: String,
  },
  time: {
    noun: "a length of time",
    written: "30s, 5m, 48h, 7d, or milliseconds",
    read: millisecondsIn,
    show: shortest([
      ["d", 86_400_000],
      ["h", 3_600_000],
      ["m", 60_000],
      ["s", 1_000],
      ["ms", 1],
    ]),
  },
  size: {
    noun: "a size",
    written: "512KiB, 4MiB, 1GiB, or bytes",
    read: bytesIn,
    show: shortest([
      ["GiB", 1024 ** 3],
      ["MiB", 1024 ** 2],
      ["KiB", 1024],
      ["", 1],
    ]),
  },
};

/** Whole numbers in a range: plain, in milliseconds, or in bytes. */
export function numberKind(unit: Unit, { min, max = Infinity }: Range): Kind<number> {
  const { noun, written, read, show } = units[unit];
  const least = min === 1 && unit !== "number" ? "above 0" : `from ${show(min)} on`;
  const range = max === Infinity ? least : `from ${show(min)} to ${show(max)}`;
  return {
    takes: min === 0 && unit === "time" ? noun : `${noun} ${range}`,
    ...(written !== undefined && { written }),
    read: (text) => {
      const value = read(text);
      return Number.isSafeInteger(value) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** A number as it would be written; empty if there is none. */
export function shownNumber(unit: Unit, value: number | null | undefined): string {
  if (value === undefined) return "";
  return value === null ? "none" : units[unit].show(value);
}

/** What `kind` takes, or the word `none` for null. */
export function orNone<T>(kind: Kind<T>): Kind<T | null> {
  return {
    ...kind,
    takes: `${kind.takes}, or \`none\``,
    read: (text) => (text === "none" ? null : kind.read(text)),
  };
}

function millisecondsIn(text: string): number {
  try {
    return millisecondsOf(/^\d+$/.test(text) ? Number(text) : text);
  } catch {
    return NaN;
  }
}

const sizes: Readonly<Record<string, number>> = { "": 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

function bytesIn(text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)?$/.exec(text) ?? [];
  return Number(amount) * (sizes[unit] ?? NaN);
}

/** Writes numbers in the largest of `parts` that divides them; the last one divides all. */
function shortest(parts: readonly (readonly [unit: string, size: number])[]): (value: number) => string {
  return (value) => {
    const [unit, size] = parts.find(([, each]) => value > 0 && value % each === 0) ?? parts.at(-1) ?? ["", 1];
    return `${value / size}${unit}`;
  };
}
