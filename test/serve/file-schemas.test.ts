import { describe, expect, it } from "vitest";
import {
  mcpUpstreamOptions,
  upstreamToolOptions,
  mcpOptionsSchema,
} from "../../src/serve/mcp/mcp-options.ts";
import {
  openApiOptions,
  operationOptions,
  openApiOptionsSchema,
} from "../../src/serve/openapi/openapi-options.ts";

interface Schema {
  readonly properties: Readonly<Record<string, Schema & { readonly additionalProperties: Schema }>>;
}

const each = [
  ["mcp", mcpOptionsSchema, mcpUpstreamOptions, "tools", upstreamToolOptions],
  ["openapi", openApiOptionsSchema, openApiOptions, "operations", operationOptions],
] as const;

describe.each(each)("the schema of %s in a file", (_, given, options, inside, ofEach) => {
  const schema = given as unknown as Schema;

  it("has all that the options have in code", () => {
    expect(Object.keys(schema.properties).toSorted()).toEqual([...options.rows.keys()].toSorted());
  });

  it("has all that those of single tools have", () => {
    const found = Object.keys(schema.properties[inside]?.additionalProperties.properties ?? {});
    expect(found.toSorted()).toEqual([...ofEach.rows.keys()].toSorted());
  });
});
