import type { StandardSchemaV1 } from "@modelcontextprotocol/server";

/** Lets all params pass: the capability is checked before them, and the SDK asks for a schema. */
export const unchecked: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value }) },
};
