import * as z from "zod";

type Value = string | number | boolean | string[];

const property = z.object({
  type: z.string().optional(),
  default: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
  enum: z.array(z.string()).optional(),
});

/** A value for one property of a schema: its default, else the first that it allows, else any value of its type. */
export function sampleOf(schema: unknown): Value {
  const { type, default: given, enum: allowed } = property.parse(schema);
  if (given !== undefined) return given;
  if (allowed?.[0] !== undefined) return allowed[0];
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return 1;
  if (type === "array") return [];
  return "sample";
}
