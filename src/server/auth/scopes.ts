import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import { listenMethod, taskListening } from "../../generation/2026-07-28/listen.ts";
import { HoldfastError } from "../../task/fault.ts";
import { followedResourceOf } from "../task-resources.ts";

/** The scopes that requests need. */
export interface ScopeRules {
  /** Needed for every request, also to open a session. */
  readonly required?: readonly string[];
  /**
   * Needed to call a tool, by its name, besides `required`. Tools that are not listed need no more. The same where a tool calls it for its
   * caller: then by the token that made the first of these tasks.
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
  /**
   * Needed for requests about tasks, besides `required`: every `tasks/` method in every revision, listening to tasks, their logs and
   * outputs, and the polling tools of clients without tasks. A call that creates a task needs the scopes of its tool instead.
   */
  readonly tasks?: readonly string[];
  /** The scopes that the metadata advertises to clients. Default `required`. */
  readonly advertised?: readonly string[];
}

const scopeRules: OptionNames<ScopeRules> = {
  required: true,
  tools: true,
  tasks: true,
  advertised: true,
};

/** Whether a tool stands for a method about tasks. */
export type IsPollingTool = (tool: string) => boolean;

/** The scopes that messages need. */
export class Scopes {
  readonly required: readonly string[];
  readonly advertised: readonly string[];
  /** A map, as a client may name a tool `constructor`. */
  readonly #tools: ReadonlyMap<string, readonly string[]>;
  readonly #tasks: readonly string[];

  /** Throws `configuration` for what is no scope. */
  constructor(rules: ScopeRules) {
    assertOptionNames("scopes", rules, scopeRules);
    const { required = [], tools = {}, tasks = [], advertised = required } = rules;
    this.required = [...required];
    this.advertised = [...advertised];
    this.#tools = new Map(Object.entries(tools).map(([name, scopes]) => [name, [...scopes]]));
    this.#tasks = [...tasks];
    for (const scope of [...required, ...advertised, ...tasks, ...Object.values(tools).flat()]) {
      if (typeof scope === "string" && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope)) continue;
      throw new HoldfastError("configuration", `Not a scope: ${JSON.stringify(scope)}.`);
    }
  }

  /** All that is needed for a body, which is a message or a batch of them: every message counts. */
  neededFor(body: unknown, isPollingTool: IsPollingTool = () => false): ReadonlySet<string> {
    const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
    return new Set([
      ...this.required,
      ...messages.flatMap((message) => this.#ofMessage(message, isPollingTool)),
    ]);
  }

  /** The tools whose calls need some. */
  get scopedTools(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** Those of a tool's calls, besides what every request needs. */
  ofTool(name: string): readonly string[] {
    return this.#tools.get(name) ?? [];
  }

  /** By the message alone, which is what is carried out; headers may say anything. */
  #ofMessage(message: unknown, isPollingTool: IsPollingTool): readonly string[] {
    if (!isJsonObject(message)) return [];
    const { method, params } = message;
    if (typeof method !== "string") return [];
    if (method.startsWith("tasks/") || followedResourceOf(method, params) !== undefined) return this.#tasks;
    if (method === listenMethod) return taskListening(params) === undefined ? [] : this.#tasks;
    const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
    if (typeof name !== "string") return [];
    const own = this.ofTool(name);
    return isPollingTool(name) ? [...this.#tasks, ...own] : own;
  }
}
