import { localTimeIn, localTimeText } from "../../../parts/local-time.ts";
import type { FieldValue, FormField } from "./form-fields.ts";

export type FormValues = ReadonlyMap<string, FieldValue>;

/** What is in the fields before somebody fills them in. */
export function initialValues(fields: readonly FormField[]): FormValues {
  return new Map(fields.map(({ name, kind, initial }) => [name, kind === "time" ? local(initial) : initial]));
}

function local(initial: FieldValue): FieldValue {
  const at = typeof initial === "string" ? Date.parse(initial) : NaN;
  return Number.isNaN(at) ? "" : localTimeText(at);
}

export interface FormContent {
  /** What is sent; fields that need nothing and are empty are left out. */
  readonly content: Readonly<Record<string, unknown>>;
  /** By the names of fields: why they cannot be sent. The server judges whatever can be. */
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

/** Undefined where nothing was given. */
type Read = { readonly value: unknown } | { readonly problem: string };

function readField({ kind, options, isRequired }: FormField, given: FieldValue): Read {
  if (typeof given === "boolean") return { value: given };
  if (typeof given !== "string") {
    const chosen = given.map(Number).sort((a, b) => a - b);
    // Nothing of what must not be left out is an answer, too: how many it takes is for the server to say.
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

/** What a text says as JSON, or why it is none. */
export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
