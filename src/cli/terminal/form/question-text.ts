import { sanitizeLine, sanitizeText } from "../text.ts";
import { shownAddress, webAddress } from "../../../generation/web-address.ts";
import { describeType, readInputSchema } from "../../arguments/input-schema.ts";
import type { OpenQuestion } from "../../../client/task/remote-task.ts";
import { isJsonObject, type JsonObject } from "../../../generation/message.ts";

/** One of a field's values, with its label. */
interface Choice {
  readonly value: string;
  readonly title: string;
}

interface FieldBase {
  readonly key: string;
  /** Its label; the key if the server gives no title. */
  readonly title: string;
  readonly description?: string | undefined;
  readonly required: boolean;
}

export interface TextField extends FieldBase {
  readonly kind: "text";
  /** Lengths in Unicode code points. */
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** "email", "uri", "date" or "date-time"; others are not checked here. */
  readonly format?: string | undefined;
  /** Shown but not checked: a server's pattern could take exponential time. */
  readonly pattern?: string | undefined;
  readonly default?: string | undefined;
}

export interface NumberField extends FieldBase {
  readonly kind: "number";
  readonly integer: boolean;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly default?: number | undefined;
}

export interface BooleanField extends FieldBase {
  readonly kind: "boolean";
  readonly default?: boolean | undefined;
}

export interface ChoiceField extends FieldBase {
  readonly kind: "choice";
  readonly choices: readonly Choice[];
  readonly default?: string | undefined;
}

export interface ChoicesField extends FieldBase {
  readonly kind: "choices";
  readonly choices: readonly Choice[];
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly default?: readonly string[] | undefined;
}

/** A kind of field that this version does not know. */
export interface UnknownField extends FieldBase {
  readonly kind: "unknown";
}

/** A field of an elicitation form, discriminated by `kind`. Its texts are unsanitized. */
export type FormField = TextField | NumberField | BooleanField | ChoiceField | ChoicesField | UnknownField;

/** The value of a field in an answer. */
export type FieldValue = string | number | boolean | string[];

/** An elicitation, as the user sees it. */
export interface Question {
  /** The sanitized lines of its message. */
  readonly lines: readonly string[];
  /** The fields to ask for; empty for a mere confirmation. */
  readonly fields: readonly FormField[];
  /** Whether the answer has content: forms have, URLs do not. */
  readonly isForm: boolean;
  /** Why it cannot be accepted here; undefined if it can. */
  readonly obstacle: string | undefined;
}

interface ElicitationParams {
  readonly message: string;
  readonly mode?: unknown;
  readonly url?: unknown;
  readonly requestedSchema?: unknown;
}

/** A question in one line: its key, message and fields. */
export function describeQuestion(key: string, { method, params }: OpenQuestion): string {
  const { message, requestedSchema, url } = params;
  if (method !== "elicitation/create") return `${key}: ${method}`;
  const text = typeof message === "string" ? message : "";
  if (typeof url === "string") return `${key}: ${text} ${shownAddress(url)}`;
  if (!isJsonObject(requestedSchema)) return `${key}: ${text}`;
  const { properties, required, root } = readInputSchema(requestedSchema);
  const fields = [...properties].map(
    ([name, schema]) => `${name}=${describeType(schema, root)}${required.includes(name) ? "" : "?"}`,
  );
  return `${key}: ${text} ${fields.join(" ")}`.trimEnd();
}

/** Longer messages are cut, so that the question stays on the screen. */
const longestMessage = 4_000;

export function questionOf(params: ElicitationParams): Question {
  const text = sanitizeText(params.message).trim();
  const cut = text.length > longestMessage ? `${text.slice(0, longestMessage).toWellFormed()} …` : text;
  const message = cut.split("\n");
  if (params.mode === "url") return { ...address(message, params.url), fields: [], isForm: false };
  const form = readForm(params.requestedSchema);
  const unknown = form.find(({ kind, required }) => kind === "unknown" && required);
  return {
    lines: message,
    fields: form.filter(({ kind }) => kind !== "unknown"),
    isForm: true,
    obstacle:
      unknown === undefined
        ? undefined
        : `"${sanitizeLine(unknown.title, 200)}" is required, but is a kind of field that cannot be filled in here.`,
  };
}

/**
 * Shows the URL as a browser parses it, so that a host in look-alike letters shows as punycode. It is never opened.
 */
function address(message: readonly string[], given: unknown): Pick<Question, "lines" | "obstacle"> {
  const url = webAddress(given);
  if (url === undefined) {
    const shown = sanitizeLine(typeof given === "string" ? given : "", 2_000);
    return {
      lines: [...message, "", `Its address: ${shown === "" ? "none" : shown}`],
      obstacle: "That is not a web address.",
    };
  }
  const insecure = url.protocol === "http:" ? " The connection to it is not encrypted." : "";
  const user =
    url.username === "" && url.password === "" ? "" : " The part before the @ is not part of the host.";
  return {
    lines: [
      ...message,
      "",
      `If you trust ${url.host}, open this in your browser:`,
      url.href,
      `The host is ${url.host}.${insecure}${user} Accepting means that you agree to go there.`,
    ],
    obstacle: undefined,
  };
}

/**
 * The fields of an elicitation's `requestedSchema`, in order. Ignores unknown keywords, and returns unknown kinds
 * of fields as such: the server may be newer than this version, or wrong.
 */
export function readForm(requestedSchema: unknown): readonly FormField[] {
  if (!isJsonObject(requestedSchema)) return [];
  const { properties, required } = readInputSchema(requestedSchema);
  return [...properties].map(([key, schema]) => readField(key, schema, required.includes(key)));
}

function readField(key: string, schema: JsonObject, required: boolean): FormField {
  const base = {
    key,
    required,
    title: stringOf(schema["title"]) ?? key,
    description: stringOf(schema["description"]),
  };
  const value = schema["default"];
  switch (schema["type"]) {
    case "string": {
      const choices = choicesOf(schema);
      if (choices !== undefined) {
        return { ...base, kind: "choice", choices, default: ofChoices(value, choices) };
      }
      const { minLength, maxLength, format, pattern } = schema;
      return {
        ...base,
        kind: "text",
        minLength: numberOf(minLength),
        maxLength: numberOf(maxLength),
        format: stringOf(format),
        pattern: stringOf(pattern),
        default: stringOf(value),
      };
    }
    case "number":
    case "integer":
      return {
        ...base,
        kind: "number",
        integer: schema["type"] === "integer",
        minimum: numberOf(schema["minimum"]),
        maximum: numberOf(schema["maximum"]),
        default: numberOf(value),
      };
    case "boolean":
      return { ...base, kind: "boolean", default: typeof value === "boolean" ? value : undefined };
    case "array": {
      const choices = isJsonObject(schema["items"]) ? choicesOf(schema["items"]) : undefined;
      if (choices === undefined) return { ...base, kind: "unknown" };
      return {
        ...base,
        kind: "choices",
        choices,
        minItems: numberOf(schema["minItems"]),
        maxItems: numberOf(schema["maxItems"]),
        default: Array.isArray(value)
          ? value.flatMap((item: unknown) => ofChoices(item, choices) ?? [])
          : undefined,
      };
    }
    default:
      return { ...base, kind: "unknown" };
  }
}

/** `enum`, with `enumNames` before 2025-11-25, or a `const` and a `title` each in `oneOf`, and in `anyOf` for arrays. */
function choicesOf(schema: JsonObject): readonly Choice[] | undefined {
  const { enum: values, enumNames, oneOf, anyOf } = schema;
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled)) {
    return titled.flatMap((option: unknown) => {
      const value = isJsonObject(option) ? option["const"] : undefined;
      if (!isJsonObject(option) || typeof value !== "string") return [];
      return [{ value, title: stringOf(option["title"]) ?? value }];
    });
  }
  if (!Array.isArray(values)) return undefined;
  const names: readonly unknown[] = Array.isArray(enumNames) ? enumNames : [];
  return values.flatMap((value: unknown, index) =>
    typeof value === "string" ? [{ value, title: stringOf(names[index]) ?? value }] : [],
  );
}

function ofChoices(value: unknown, choices: readonly Choice[]): string | undefined {
  return choices.find((choice) => choice.value === value)?.value;
}

const stringOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
