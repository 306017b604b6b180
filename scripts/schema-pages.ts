// Makes docs/reference/admin-api.md and tools-file.md from the schemas of both: npm run docs:schemas
import { writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";
import { openApiDocument } from "../src/admin/openapi.ts";
import { toolsFileSchema } from "../src/serve/file/schema.ts";

/** What is read of a JSON Schema. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
}

/** What is read of an operation of an OpenAPI document. */
interface Operation {
  readonly summary: string;
  readonly "x-role"?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

/** The pages, by name. */
export async function schemaPages(): Promise<ReadonlyMap<string, string>> {
  const url = schemaPageUrl("admin-api");
  const options = { ...(await resolveConfig(url)), parser: "markdown" };
  return new Map([
    ["admin-api", await format(adminApi(), options)],
    ["tools-file", await format(toolsFile(), options)],
  ]);
}

export function schemaPageUrl(name: string): URL {
  return new URL(`../docs/reference/${name}.md`, import.meta.url);
}

function adminApi(): string {
  const { paths } = openApiDocument("/admin") as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { summary, parameters = [], requestBody, responses } = operation;
      const query = parameters.filter((each) => each.in === "query").map(({ name }) => name);
      const body = schemaIn(requestBody?.content)?.properties ?? {};
      const given = schemaIn(responses["200"]?.content);
      const takes = [...query, ...Object.keys(body)].map((name) => `\`${name}\``).join(", ");
      const isStream = responses["200"]?.content?.["text/event-stream"] !== undefined;
      const gives = isStream
        ? "server-sent events"
        : responses["204"] === undefined
          ? nameOf(given)
          : "nothing";
      const role = operation["x-role"] ?? "any";
      return `| \`${method.toUpperCase()} ${path}\` | ${role} | ${summary} | ${takes} | ${gives} |`;
    }),
  );
  return `<!-- Made from the OpenAPI document by \`npm run docs:schemas\`. Do not edit. -->

# Admin API

All requests of the [admin endpoint](../operate/admin-endpoint.md), below its path. \`GET /openapi.json\` has the same with all schemas; types are those of \`holdfast\`. Parameters are in the query of a \`GET\`, and in the JSON body of others.

| request | role | what it does | takes | gives |
| --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function schemaIn(content: Content | undefined): Schema | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

function nameOf(schema: Schema | undefined): string {
  if (schema?.$ref !== undefined) return `\`${schema.$ref.split("/").at(-1)}\``;
  if (schema?.items !== undefined) return `a list of ${nameOf(schema.items)}`;
  const members = Object.keys(schema?.properties ?? {});
  return members.length === 0 ? "an object" : members.map((name) => `\`${name}\``).join(", ");
}

function toolsFile(): string {
  const { properties = {} } = toolsFileSchema() as Schema;
  const all = Object.entries(properties).filter(([name]) => name !== "$schema");
  const isLarge = (schema: Schema): boolean => membersIn(schema, "").length > 4;
  const small = all.filter(([, schema]) => !isLarge(schema)).flatMap(rowsOf);
  const large = all.filter(([, schema]) => isLarge(schema));
  const sections = large.map(
    ([name, schema]) => `## ${name}\n\n${sentence(schema)}\n\n${table(membersIn(schema, ""))}`,
  );
  return `<!-- Made from the schema of the file by \`npm run docs:schemas\`. Do not edit. -->

# The file of holdfast serve

All members of the file that [\`holdfast serve\`](../recipes/serve.md) takes, as YAML or JSON. \`holdfast serve --schema\` prints its JSON Schema, for editors. \`NAME\` stands for a name that you choose.

${table(small)}

${sections.join("\n\n")}
`;
}

function sentence({ description = "" }: Schema): string {
  return `${description.replace(/\.$/, "")}.`;
}

function table(rows: readonly string[]): string {
  return ["| member | takes | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function rowsOf([name, schema]: readonly [string, Schema]): readonly string[] {
  const meaning = (schema.description ?? "").replace(/\.$/, "").replaceAll("|", "\\|");
  const own = `| \`${name}\` | ${wordsOf(schema)} | ${meaning} |`;
  return [own, ...membersIn(schema, `${name}.`)];
}

/** The rows of the members below a schema. */
function membersIn(schema: Schema, prefix: string): readonly string[] {
  const forms = [schema, ...(schema.anyOf ?? [])];
  return forms.flatMap(({ properties = {}, additionalProperties, items }) => [
    ...Object.entries(properties).flatMap(([name, member]) => rowsOf([`${prefix}${name}`, member])),
    ...(typeof additionalProperties === "object" ? membersIn(additionalProperties, `${prefix}NAME.`) : []),
    ...(items === undefined ? [] : membersIn(items, prefix)),
  ]);
}

function wordsOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(code).join(", ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(wordsOf))].join(", or ");
  if (schema.items !== undefined) return "a list";
  const { type = "any JSON" } = schema;
  return typeof type === "string"
    ? (words[type] ?? type)
    : type.map((each) => words[each] ?? each).join(", or ");
}

const words: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "a whole number",
  number: "a number",
  boolean: "`true` or `false`",
  object: "an object",
  array: "a list",
  null: "`null`",
};

function code(value: unknown): string {
  return `\`${String(value)}\``;
}

// Not when a test imports this.
if (import.meta.main)
  for (const [name, text] of await schemaPages()) await writeFile(schemaPageUrl(name), text);
