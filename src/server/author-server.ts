import {
  McpServer,
  type McpRequestContext,
  type ServerCapabilities,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { HoldfastError } from "../task/fault.ts";
import { scopeOf, type PlainOwner } from "./plain/plain-call.ts";
import { nameTaken, type PlainPolicies } from "./plain/plain-policies.ts";
import { definitionOf } from "./plain/polling-tool-definitions.ts";

/**
 * Creates the author's own server: for each session, for each connection on stdio, and for each request of 2026-07-28 over HTTP that
 * is not about tasks or a tool of `tasks.tool`. To refuse callers is for `authenticate`.
 */
export type ServerFactory = (context: McpRequestContext) => McpServer | Promise<McpServer>;

type ListedTool = Pick<Tool, "title" | "description" | "annotations" | "icons" | "_meta"> & {
  readonly inputSchema?: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
};
type JsonForm = StandardSchemaWithJSON["~standard"]["jsonSchema"];

/** Names under `tasks/` that some generation has had: an author's server has no handlers of its own for them. */
const reservedMethods: readonly string[] = [
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "tasks/list",
  "tasks/result",
  "tasks/delete",
];

/** Accepts all params: the capability is checked before them, and the SDK requires a schema. */
const unchecked: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value }) },
};

/**
 * Makes the author's servers, with our tools on them for the SDK to list. Calls of these tools are answered before they
 * reach a server.
 */
export class AuthorServers {
  readonly #factory: ServerFactory;
  readonly #registry: Registry;
  readonly #policies: PlainPolicies;
  readonly #listed = new WeakMap<Tool, ListedTool>();
  readonly #declareHeaders = new WeakMap<Tool, boolean>();

  constructor(factory: ServerFactory, registry: Registry, policies: PlainPolicies) {
    this.#factory = factory;
    this.#registry = registry;
    this.#policies = policies;
  }

  /**
   * A server that is not connected yet. It knows `methods`, those about tasks in its revision, so that the SDK checks requests
   * for them as it checks its own. Throws what the factory throws, and `configuration` if its server uses a reserved name.
   */
  async make(
    context: McpRequestContext,
    owner: PlainOwner,
    methods: readonly string[],
    capabilities?: ServerCapabilities,
  ): Promise<McpServer> {
    const mcp = await this.#factory(context);
    assertMade(mcp);
    this.#policies.assertNoCollision();
    if (capabilities !== undefined) mcp.server.registerCapabilities(capabilities);
    assertNothingReserved(mcp);
    for (const method of methods) {
      mcp.server.setRequestHandler(method, { params: unchecked }, async () => neverReached());
    }
    for (const tool of this.#registry.all()) {
      const listed = mcp.registerTool(tool.name, this.#listedAs(tool), neverReached);
      if (!this.#registry.isEnabled(tool)) listed.disable(); // so that the SDK refuses its calls
    }
    this.#registerPollingTools(mcp, owner);
    return mcp;
  }

  /** Whether clients have to repeat arguments of the tool in headers over HTTP, which the SDK checks. */
  declaresHeaders(tool: Tool): boolean {
    const known = this.#declareHeaders.get(tool);
    if (known !== undefined) return known;
    const mcp = new McpServer({ name: tool.name, version: "0" });
    mcp.registerTool(tool.name, this.#listedAs(tool), neverReached);
    const declares = JSON.stringify(mcp.toolInputSchemaJson(tool.name) ?? {}).includes('"x-mcp-header"');
    this.#declareHeaders.set(tool, declares);
    return declares;
  }

  #listedAs(tool: Tool): ListedTool {
    const known = this.#listed.get(tool);
    if (known !== undefined) return known;
    const { title, description, annotations, icons, _meta, inputSchema, outputSchema } = tool;
    const listed = {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(inputSchema !== undefined && { inputSchema: listedSchema(inputSchema) }),
      ...(outputSchema !== undefined && { outputSchema: listedSchema(outputSchema) }),
      ...(annotations !== undefined && { annotations }),
      ...(icons !== undefined && { icons }),
      ...(_meta !== undefined && { _meta }),
    };
    this.#listed.set(tool, listed);
    return listed;
  }

  #registerPollingTools(mcp: McpServer, owner: PlainOwner): void {
    const { names } = this.#policies;
    for (const [kind, name] of this.#policies.pollingTools) {
      // A caller without principal and session has no tasks that can be listed.
      if (kind === "list" && scopeOf(owner) === undefined) continue;
      const { description, annotations, inputSchema } = definitionOf(kind, names);
      const schema = schemaOf({ input: () => inputSchema, output: () => inputSchema });
      const config = { description: description(names), inputSchema: schema, annotations };
      try {
        mcp.registerTool(name, config, neverReached);
      } catch (cause) {
        throw nameTaken(kind, name, cause);
      }
    }
  }
}

/** Whether the server answers requests for `method`. */
export function serves({ server }: McpServer, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return false;
  } catch {
    return true; // it has a handler
  }
}

/** The SDK would replace an author's handler silently, or serve one that other versions will not. */
function assertNothingReserved({ server }: McpServer): void {
  for (const method of reservedMethods) {
    try {
      server.assertCanSetRequestHandler(method);
    } catch (cause) {
      const message = `${method} belongs to tasks: leave its handler out of your server.`;
      throw new HoldfastError("configuration", message, { cause });
    }
  }
}

/** In JavaScript, a factory may lack its `return`. */
function assertMade(mcp: McpServer | undefined): asserts mcp is McpServer {
  if (mcp?.server !== undefined) return;
  throw new HoldfastError(
    "configuration",
    "The function given to tasks.server() returned no McpServer. Return a new one on each call: tasks.server(() => new McpServer({ … })).",
  );
}

function neverReached(): never {
  throw new HoldfastError("internal", "A request that is not the author's reached the author's server.");
}

/** A schema that is converted to JSON Schema once: the SDK would convert it for each list. */
function listedSchema(schema: NonNullable<Tool["inputSchema"]>): StandardSchemaWithJSON {
  // The registry accepts a schema only if it has a JSON form or is an older zod schema, which the SDK converts.
  const listed = schema as StandardSchemaWithJSON;
  const { jsonSchema } = listed["~standard"] as Partial<StandardSchemaWithJSON["~standard"]>;
  if (jsonSchema === undefined) return listed;
  return schemaOf({
    input: once((options) => jsonSchema.input(options)),
    output: once((options) => jsonSchema.output(options)),
  });
}

/** The SDK validates nothing with it, since no call reaches a handler. */
function schemaOf(jsonSchema: JsonForm): StandardSchemaWithJSON {
  return { "~standard": { ...unchecked["~standard"], jsonSchema } };
}

/** Converts once per draft of JSON Schema. */
function once(convert: JsonForm["input"]): JsonForm["input"] {
  const converted = new Map<string, ReturnType<typeof convert>>();
  return (options) => {
    const known = converted.get(options.target);
    if (known !== undefined) return known;
    const json = convert(options);
    converted.set(options.target, json);
    return json;
  };
}
