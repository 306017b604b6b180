/** The form of a file of tools. What a person reads of it in an editor is here too: the JSON Schema of the package is made of it. */

import * as z from "zod/mini";
import { mcpUpstreamOptions, mcpOptionsSchema } from "../mcp/mcp-options.ts";
import { openApiOptions, openApiOptionsSchema } from "../openapi/openapi-options.ts";

const described = <S extends z.ZodMiniType>(schema: S, words: string): S => schema.check(z.describe(words));

const text = z.string().check(z.minLength(1));
const texts = z.record(z.string(), z.string());
const whole = z.number().check(z.int(), z.nonnegative());
const time = z.union([
  z.number().check(z.nonnegative()),
  z
    .string()
    .check(z.regex(/^\d+(\.\d+)?(ms|[smhdw])$/, "must be a length of time, such as 90s, 15m, 2h or 3d")),
]);
const jsonSchema = z.record(z.string(), z.unknown());

const pointer = z.string().check(z.regex(/^(\/.*)?$/, "must be a JSON pointer, such as /job/id"));

const approval = z.strictObject({
  by: described(z.enum(["user", "operator"]), "The user of the client, or somebody who operates the server"),
  message: described(z.optional(text), "The question, with placeholders for the arguments"),
  timeoutMs: described(z.optional(time), "How long to wait. Then the call fails"),
  link: described(
    z.optional(
      z.strictObject({
        notify: described(z.url(), "Where the link is sent, with a POST of JSON"),
        headers: z.optional(texts),
        allow: z.optional(z.array(text)),
        timeoutMs: described(z.optional(time), "How long the link is good. Default 1d"),
      }),
    ),
    "A link by which whoever gets it decides in place of an operator. Needs publicUrl",
  ),
});

const argv = z
  .array(z.union([z.string(), z.array(z.string()), z.strictObject({ if: text, args: z.array(z.string()) })]))
  .check(z.minLength(1));

const command = z.strictObject({
  run: described(
    argv,
    "The program and its arguments, with placeholders such as {month}. No shell reads them",
  ),
  stdin: described(z.optional(z.string()), "json for the arguments as JSON, or a text with placeholders"),
  cwd: described(z.optional(text), "The folder it runs in. Default: that of this file"),
  env: described(z.optional(texts), "Variables of its environment, with placeholders"),
  inheritEnv: described(z.optional(z.array(text)), "The variables that it gets from the server"),
  output: described(z.optional(z.enum(["text", "json"])), "What its standard output is. Default text"),
  exitCodes: described(
    z.optional(texts),
    "What exit codes mean: success, retry, or an error of this text. Default: all but 0 are errors",
  ),
  timeoutMs: described(z.optional(time), "How long it may run. Default: no limit"),
  killAfterMs: described(z.optional(time), "How long it has to end after SIGTERM. Default 5s"),
  onCrash: described(
    z.optional(z.enum(["adopt", "restart"])),
    "When the server crashes, it lives on and the next server goes on with it (adopt), or it begins again",
  ),
  onOtherMachine: z.optional(z.enum(["wait", "fail"])),
  retries: described(
    z.optional(whole),
    "How often it runs again after an exit code that means retry. Default 3",
  ),
  niceness: z.optional(whole),
  maxOutputBytes: z.optional(whole),
});

const requestOf = {
  method: described(
    z.optional(z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"])),
    "The method of the request",
  ),
  url: described(text, "The address, with placeholders; their values are encoded"),
  query: described(z.optional(z.record(z.string(), z.unknown())), "Parameters of the address"),
  headers: described(z.optional(texts), "Headers, with placeholders"),
  body: described(
    z.optional(z.unknown()),
    "JSON with placeholders. A text that is one placeholder keeps its type",
  ),
};

const condition = z.strictObject({
  pointer: described(pointer, "Where in the JSON of the answer the state is"),
  in: described(z.array(z.unknown()), "The states that count"),
});

const http = z.strictObject({
  ...requestOf,
  poll: described(
    z.optional(z.strictObject({ url: text, headers: z.optional(texts), every: z.optional(time) })),
    "Where to look for the state of the job. Default: where the Location of a 202 says",
  ),
  done: described(z.optional(condition), "When the job has ended. Default: with any answer but 202"),
  failed: described(
    z.optional(z.strictObject({ pointer, in: z.array(z.unknown()), message: z.optional(pointer) })),
    "When the job has failed, and where it says why",
  ),
  result: described(
    z.optional(
      z.strictObject({ url: z.optional(text), headers: z.optional(texts), pointer: z.optional(pointer) }),
    ),
    "What the result is: a part of the last answer, or what another address has",
  ),
  cancel: described(z.optional(z.strictObject({ ...requestOf })), "What to send when the task is cancelled"),
  callback: described(
    z.optional(z.boolean()),
    "Whether {callback} in the request is an address to which the job posts its end. Needs publicUrl",
  ),
  idempotencyHeader: described(
    z.optional(z.nullable(text)),
    "The header with the same key for each try of a call. Default Idempotency-Key; null if the service knows none",
  ),
  retries: described(
    z.optional(whole),
    "How often a request that fails for a while is sent again. Default 5",
  ),
  timeoutMs: described(z.optional(time), "How long each request may take. Default 30s"),
  credentials: described(
    z.optional(
      z.strictObject({
        bearer: z.optional(text),
        basic: z.optional(z.strictObject({ user: z.string(), password: z.string() })),
        headers: z.optional(texts),
      }),
    ),
    "Sent to the origin of the url, and nowhere else. Write secrets as ${env:NAME} or ${file:PATH}",
  ),
  allow: described(
    z.optional(z.array(text)),
    "Hosts and ranges outside the public internet that may be reached",
  ),
});

const tool = z.strictObject({
  title: z.optional(text),
  description: described(z.optional(text), "For the model: what the tool does, and when to use it"),
  annotations: z.optional(
    z.strictObject({
      title: z.optional(text),
      readOnlyHint: z.optional(z.boolean()),
      destructiveHint: z.optional(z.boolean()),
      idempotentHint: z.optional(z.boolean()),
      openWorldHint: z.optional(z.boolean()),
    }),
  ),
  inputSchema: described(z.optional(jsonSchema), "The arguments, as a JSON Schema of an object"),
  outputSchema: described(
    z.optional(jsonSchema),
    "The structured content of results, as a JSON Schema of an object",
  ),
  command: described(z.optional(z.union([argv, command])), "Runs a program: its arguments, or more about it"),
  http: described(z.optional(http), "Calls an HTTP API, and waits for its job"),
  approval: described(z.optional(approval), "Who has to agree before each call"),
  limit: described(
    z.optional(z.union([text, z.array(z.union([z.string(), z.number()]))])),
    "A limit of limits",
  ),
  concurrency: described(z.optional(whole), "How many calls run at a time, over all processes"),
  priority: z.optional(z.number().check(z.int())),
  ttlMs: described(z.optional(z.nullable(time)), "The life of a task, its result included"),
  maxRunMs: described(z.optional(time), "How long a call may take in all"),
  plainDeadlineMs: described(
    z.optional(time),
    "How long clients without tasks wait before they get a ticket",
  ),
});

/** Options that are checked where they are used; here only their names are known. */
function optionsOf(names: Iterable<string>): z.ZodMiniType<Record<string, unknown>> {
  return z.strictObject(Object.fromEntries([...names].map((name) => [name, z.optional(z.unknown())])));
}

export const toolsFile = z.strictObject({
  $schema: z.optional(z.string()),
  name: described(z.optional(text), "The name of the server for clients. Default: that of the file"),
  version: described(z.optional(text), "Its version for clients. Default 1.0.0"),
  instructions: described(z.optional(text), "For the model: how to use the tools together"),
  store: described(
    z.optional(text),
    "Where tasks are kept: sqlite:PATH, postgres://HOST/DATABASE or memory:. Default sqlite:tasks.db beside the file",
  ),
  listen: described(
    z.optional(z.union([z.int().check(z.minimum(0), z.maximum(65_535)), text])),
    "A port, host:port, or stdio. Default 127.0.0.1:3000",
  ),
  publicUrl: described(
    z.optional(z.url()),
    "Where others reach the server, such as https://tools.example.com, for callbacks",
  ),
  auth: described(
    z.optional(
      z.strictObject({
        tokens: described(z.optional(texts), "The bearer token of each caller, by the caller's name"),
        oauth: described(
          z.optional(z.strictObject({ issuer: z.url(), resource: z.url(), jwks: z.optional(z.url()) })),
          "The authorization server whose access tokens (JWT) are accepted, and the address that they are for",
        ),
        anonymous: z.optional(z.enum(["isolated", "shared"])),
      }),
    ),
    "Who may call. Default: everybody on this machine",
  ),
  dashboard: described(
    z.optional(z.strictObject({ token: text, path: z.optional(text) })),
    "The page for operators, at /holdfast, and the token that they log in with",
  ),
  limits: described(
    z.optional(
      z.record(text, z.strictObject({ concurrency: z.optional(whole), perMinute: z.optional(whole) })),
    ),
    "Limits that tools share, by their names",
  ),
  tools: described(z.optional(z.record(text, tool)), "Tools, by their names"),
  mcp: described(
    z.optional(z.record(text, optionsOf(mcpUpstreamOptions.rows.keys()))),
    "Other MCP servers whose tools are served, by names for messages",
  ),
  openapi: described(
    z.optional(z.record(text, optionsOf(openApiOptions.rows.keys()))),
    "Services that OpenAPI documents describe, by names for messages",
  ),
});

export type ToolsFile = z.infer<typeof toolsFile>;

/** For editors. */
export function toolsFileSchema(): object {
  const { properties, ...schema } = z.toJSONSchema(toolsFile, { io: "input", target: "draft-7" });
  const { mcp, openapi } = properties as Readonly<Record<string, object>>;
  return {
    ...schema,
    title: "Tools of holdfast serve",
    properties: {
      ...properties,
      mcp: { ...mcp, additionalProperties: mcpOptionsSchema },
      openapi: { ...openapi, additionalProperties: openApiOptionsSchema },
    },
  };
}
