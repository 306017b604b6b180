import type { McpServer, RegisteredTool } from "@modelcontextprotocol/server";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { scopeOf, type PlainOwner } from "../plain/plain-call.ts";
import { nameTaken, type PlainPolicies, type PollingToolKind } from "../plain/plain-policies.ts";
import { definitionOf } from "../plain/polling-tool-definitions.ts";
import { neverReached, schemaOf, shownOf, type ToolForms } from "./tool-forms.ts";

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
    mcp.sendToolListChanged = () => undefined; // which it would do for each of them
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
