import { isJsonObject, type JsonObject } from "../../../generation/message.ts";
import type { Choice, FormField } from "./form-field.ts";

/**
 * The fields of an elicitation's `requestedSchema`, in order. Ignores unknown keywords, and returns unknown kinds
 * of fields as such: the server may be newer than this version, or wrong.
 */
export function readForm(requestedSchema: unknown): readonly FormField[] {
  if (!isJsonObject(requestedSchema)) return [];
  const { properties, required } = requestedSchema;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([key, schema]) =>
    readField(key, isJsonObject(schema) ? schema : {}, needed.includes(key)),
  );
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
