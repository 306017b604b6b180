/** A schema in the form of OpenAPI 3.1: JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: "string" };
export const textOrNull: Schema = { type: ["string", "null"] };
export const whole: Schema = { type: "integer" };
export const time: Schema = { type: "integer", description: "Epoch milliseconds." };
export const timeOrNull: Schema = { type: ["integer", "null"], description: "Epoch milliseconds." };
export const wholeOrNull: Schema = { type: ["integer", "null"] };
export const numberOrNull: Schema = { type: ["number", "null"] };
export const byMinute: Schema = {
  type: "array",
  items: whole,
  description: "A number for each minute, the oldest first.",
};
export const anything: Schema = {};
export const yesOrNo: Schema = { type: "boolean" };

export function reference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function listOf(items: Schema): Schema {
  return { type: "array", items };
}

export function oneOf(values: readonly string[]): Schema {
  return { type: "string", enum: values };
}

export type Members<T> = Readonly<Record<keyof T & string, Schema>>;

/** An object with all members of `T`, of which the named ones are optional. */
export function objectOf<T>(properties: Members<T>, optional: readonly (keyof T)[] = []): Schema {
  const left: readonly PropertyKey[] = optional;
  const required = Object.keys(properties).filter((name) => !left.includes(name));
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** Rejects additional members of what is sent. */
export function taken(schema: Schema): Schema {
  return { ...schema, additionalProperties: false };
}
