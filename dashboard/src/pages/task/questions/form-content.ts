import { localTimeIn, localTimeText } from "../../../parts/local-time.ts";
import type { FieldValue, FormField } from "./form-fields.ts";

export type FormValues = ReadonlyMap<string, FieldValue>;

/** The initial contents of the fields. */
export function initialValues(fields: readonly FormField[]): FormValues {
  return new Map(fields.map(({ name, kind, initial }) => [name, kind === "time" ? local(initial) : initial]));
}

function local(initial: FieldValue): FieldValue {
  const at = typeof initial === "string" ? Date.parse(initial) : NaN;
  return Number.isNaN(at) ? "" : localTimeText(at);
}

export interface FormContent {
  /** The answer; optional fields that are empty are left out. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Why fields cannot be sent, by their names. The server validates everything that can be sent. */
  readonly problems: ReadonlyMap<string, string>;
}

export function contentOf(fields: readonly FormField[], values: FormValues): FormContent {
  const content: [string, unknown][] = [];
  const problems = new Map<string, string>();
  for (const field of fields) {
    const read = readField(field, values.get(field.name) ?? field.initial);
    if ("problem" in read) problems.set(field.name, read.problem);
    else if (read.value !== undefined) content.push([field.name, read.value]);
    else if (field.isRequired) problems.set(field.name, "This field is required.");
  }
  return { content: Object.fromEntries(content), problems };
}

/** Undefined if there is no value. */
type Read = { readonly value: unknown } | { readonly problem: string };

function readField({ kind, options, isRequired }: FormField, given: FieldValue): Read {
  if (typeof given === "boolean") return { value: given };
  if (typeof given !== "string") {
    const chosen = given.map(Number).sort((a, b) => a - b);
    // Choosing nothing in a required field is an answer too: the server decides how many choices it needs.
    return {
      value: chosen.length > 0 || isRequired ? chosen.map((place) => options[place]?.value) : undefined,
    };
  }
  if (given === "") return { value: undefined };
  switch (kind) {
    case "number":
    case "integer":
      return readNumber(given, kind === "integer");
    case "choice":
      return { value: options[Number(given)]?.value };
    case "time": {
      const at = localTimeIn(given);
      return at === undefined
        ? { problem: "Enter a date and a time." }
        : { value: new Date(at).toISOString() };
    }
    case "json":
      return readJson(given);
    default:
      return { value: given };
  }
}

function readNumber(text: string, isWhole: boolean): Read {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return { problem: "Enter a number." };
  return isWhole && !Number.isInteger(value) ? { problem: "Enter a whole number." } : { value };
}

/** The JSON value of a text, or why it is invalid. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
