import { UsageError } from "../usage-error.ts";

/** Whether a whole number would arrive as another one: a JSON number is sent as a double. */
export function losesDigits(numeral: string): boolean {
  return /^[+-]?\d+$/.test(numeral) && !Number.isSafeInteger(Number(numeral));
}

export function tooLong(numeral: string): string {
  return `${numeral} is too long to be sent exactly as a number: it would arrive as ${String(Number(numeral))}`;
}

/** As `JSON.parse`; throws a UsageError for a whole number that would not be sent as it was written. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value === "number" && source !== undefined && losesDigits(source)) {
      throw new UsageError(`${tooLong(source)}.`);
    }
    return value;
  });
}
