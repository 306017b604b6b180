import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { text } from "../text.ts";

const inputSchema = fromJsonSchema({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
});

/** A schema written by hand is listed as it stands, with every keyword of JSON Schema 2020-12. */
export function addJsonSchemaTool(mcp: McpServer): void {
  mcp.registerTool(
    "json_schema_2020_12_tool",
    { description: "Takes a contact, described in JSON Schema 2020-12", inputSchema },
    (contact) => text(`Contact: ${JSON.stringify(contact)}`),
  );
}
