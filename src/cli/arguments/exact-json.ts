import { UsageError } from "../errors.ts";

/** Whether a whole number would lose digits: JSON numbers are sent as doubles. */
export function losesDigits(numeral: string): boolean {
  return /^[+-]?\d+$/.test(numeral) && !Number.isSafeInteger(Number(numeral));
}

export function tooLong(numeral: string): string {
  return `${numeral} is too long to be sent exactly as a number: it would arrive as ${String(Number(numeral))}`;
}

/** Like `JSON.parse`, but throws a UsageError for a whole number that would lose digits. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(withoutMark(text), (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value === "number" && source !== undefined && losesDigits(source)) {
      throw new UsageError(`${tooLong(source)}.`);
    }
    return value;
  });
}

/** The JSON of an option or argument, which `what` names. Throws a UsageError. */
export function exactJson(what: string, text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${what} takes JSON, which ${JSON.stringify(text)} is not.`);
  }
}

/** A file's text without the byte order mark that Windows programs put first. */
export function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}
