import {
  McpServer,
  type RegisteredTool,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { Tool } from "../runtime/tool/tool.ts";
import { HoldfastError } from "../task/fault.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Registry } from "../runtime/tool/registry.ts";
import {
  nameTaken,
  type PlainOwner,
  type PlainPolicies,
  type PollingToolKind,
  scopeOf,
} from "./plain/plain-policies.ts";
import { definitionOf } from "./plain/polling-tools.ts";

/** A tool as the SDK lists it. */
export type ListedTool = Pick<Tool, "title" | "description" | "annotations" | "icons" | "_meta"> & {
  readonly inputSchema?: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
};
type JsonForm = StandardSchemaWithJSON["~standard"]["jsonSchema"];

/** Accepts everything: the SDK requires a schema, but no call reaches its check. */
export const unchecked: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value }) },
};

/** The forms in which our tools are listed, each made once. */
export class ToolForms {
  readonly #listed = new WeakMap<Tool, ListedTool>();
  readonly #declareHeaders = new WeakMap<Tool, boolean>();

  of(tool: Tool): ListedTool {
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

  /** Whether clients have to repeat arguments of the tool in headers over HTTP, which the SDK checks. */
  declareHeaders(tool: Tool): boolean {
    const known = this.#declareHeaders.get(tool);
    if (known !== undefined) return known;
    const mcp = new McpServer({ name: tool.name, version: "0" });
    mcp.registerTool(tool.name, this.of(tool), neverReached);
    const declares = JSON.stringify(mcp.toolInputSchemaJson(tool.name) ?? {}).includes('"x-mcp-header"');
    this.#declareHeaders.set(tool, declares);
    return declares;
  }
}

/** What a listed tool consists of that clients can see in one list or another: two that have the same are listed alike. */
function shownOf(tool: Tool, enabled: boolean): readonly unknown[] {
  const { title, description, annotations, icons, _meta, inputSchema, outputSchema, task, plain } = tool;
  return [
    tool.name,
    enabled,
    title,
    description,
    annotations,
    icons,
    _meta,
    inputSchema,
    outputSchema,
    task,
    plain,
  ];
}

/** The handler that the SDK is given for what it is never to call. */
export function neverReached(): never {
  throw new HoldfastError("internal", "A request that Holdfast answers itself reached the author's server.");
}

/** The SDK validates nothing with it, since no call reaches a handler. */
function schemaOf(jsonSchema: JsonForm): StandardSchemaWithJSON {
  return { "~standard": { ...unchecked["~standard"], jsonSchema } };
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

/** Changes within this many ms after another are announced with it. */
const togetherMs = 50;

/** Announces that our tools, as clients see them, have changed: once for changes made together. */
export class ListChanges {
  readonly #registry: Registry;
  readonly #clock: Pick<Clock, "after">;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();
  /** Those that were there at a change. */
  #told = new Set<() => void>();
  #shown: readonly (readonly unknown[])[];
  #due = false;

  constructor(registry: Registry, clock: Pick<Clock, "after">, onError: (error: unknown) => void) {
    this.#registry = registry;
    this.#clock = clock;
    this.#onError = onError;
    this.#shown = this.#look();
    registry.onChange(() => this.#changed());
  }

  /** Returns what ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #changed(): void {
    const before = this.#shown;
    this.#shown = this.#look();
    if (isSame(before, this.#shown)) return;
    for (const listener of this.#listeners) this.#told.add(listener); // who comes later finds the new tools
    if (this.#due) return;
    this.#due = true;
    this.#clock.after(togetherMs, () => this.#announce());
  }

  #announce(): void {
    this.#due = false;
    const told = this.#told;
    this.#told = new Set();
    for (const listener of told) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener();
      } catch (error) {
        this.#onError(error); // the others hear of it all the same
      }
    }
  }

  #look(): readonly (readonly unknown[])[] {
    return this.#registry.all().map((tool) => shownOf(tool, this.#registry.isEnabled(tool)));
  }
}

function isSame(a: readonly (readonly unknown[])[], b: readonly (readonly unknown[])[]): boolean {
  return (
    a.length === b.length && a.every((shown, place) => shown.every((member, at) => member === b[place]?.[at]))
  );
}

export interface ServedToolsSetup {
  readonly registry: Registry;
  readonly policies: PlainPolicies;
  readonly forms: ToolForms;
}

/** One of our tools on the author's server. */
interface Served {
  readonly listed: RegisteredTool;
  readonly shown: readonly unknown[];
}

/**
 * Our tools on one of the author's servers, for the SDK to list, and to refuse those that are disabled. Calls of the others are answered
 * before they reach the server.
 */
export class ServedTools {
  readonly #setup: ServedToolsSetup;
  readonly #mcp: McpServer;
  readonly #owner: PlainOwner;
  readonly #tools = new Map<string, Served>();
  readonly #polling = new Set<PollingToolKind>();

  constructor(setup: ServedToolsSetup, mcp: McpServer, owner: PlainOwner) {
    this.#setup = setup;
    this.#mcp = mcp;
    this.#owner = owner;
  }

  /** Updates the server's list to the current tools. `taken` is called with names of our tools that it also uses. */
  update(taken: (name: string, fault: unknown) => void): void {
    const { registry } = this.#setup;
    const mcp = this.#mcp;
    const own = Object.getOwnPropertyDescriptor(mcp, "sendToolListChanged");
    Object.assign(mcp, { sendToolListChanged: () => undefined }); // which it would do for each of them
    try {
      const tools = registry.all();
      for (const [name, { listed }] of this.#tools) {
        if (tools.some((tool) => tool.name === name)) continue;
        listed.remove();
        this.#tools.delete(name);
      }
      for (const tool of tools) orTaken(tool.name, () => this.#list(tool), taken);
      for (const [kind, name] of this.#setup.policies.pollingTools) {
        orTaken(name, () => this.#listPollingTool(kind, name), taken);
      }
    } finally {
      Reflect.deleteProperty(mcp, "sendToolListChanged");
      if (own !== undefined) Object.defineProperty(mcp, "sendToolListChanged", own);
    }
  }

  #list(tool: Tool): void {
    const { registry, forms } = this.#setup;
    const { name } = tool;
    const shown = shownOf(tool, registry.isEnabled(tool));
    const before = this.#tools.get(name);
    if (before !== undefined && before.shown.every((member, at) => member === shown[at])) return;
    before?.listed.remove(); // an update could not take away what the tool has no more
    this.#tools.delete(name);
    const listed = this.#mcp.registerTool(name, forms.of(tool), neverReached);
    if (!registry.isEnabled(tool)) listed.disable();
    this.#tools.set(name, { listed, shown });
  }

  #listPollingTool(kind: PollingToolKind, name: string): void {
    // A caller without principal and session has no tasks that can be listed.
    if (this.#polling.has(kind) || (kind === "list" && scopeOf(this.#owner) === undefined)) return;
    const { names } = this.#setup.policies;
    const { description, annotations, inputSchema } = definitionOf(kind, names);
    const schema = schemaOf({ input: () => inputSchema, output: () => inputSchema });
    const config = { description: description(names), inputSchema: schema, annotations };
    try {
      this.#mcp.registerTool(name, config, neverReached);
      this.#polling.add(kind);
    } catch (cause) {
      throw nameTaken(kind, name, cause);
    }
  }
}

function orTaken(name: string, list: () => void, taken: (name: string, fault: unknown) => void): void {
  try {
    list();
  } catch (fault) {
    taken(name, fault);
  }
}
