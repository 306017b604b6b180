import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { isJsonObject } from "../../generation/message.ts";
import { listenMethod, taskListening } from "../../generation/2026-07-28-listen.ts";
import { HoldfastError } from "../../task/fault.ts";
import { namedResourceOf } from "../task-resources.ts";

/** The scopes that requests need. */
export interface ScopeRules {
  /** Needed for every request, including one that opens a session. */
  readonly required?: readonly string[];
  /**
   * Needed to call a tool, by its name, in addition to `required`. Tools not listed need only `required`. If a tool calls it on its
   * caller's behalf, the token that made the first of these tasks needs the scopes.
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
  /**
   * Needed for requests about tasks, in addition to `required`: every `tasks/` method in every revision, listening to tasks, their logs, outputs
   * and artifacts, and the polling tools of clients without tasks. A call that creates a task needs the scopes of its tool instead.
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

/** Whether a tool is a polling tool, which counts as a request about tasks. */
export type IsPollingTool = (tool: string) => boolean;

/** The scopes that messages need. */
export class Scopes {
  readonly required: readonly string[];
  readonly advertised: readonly string[];
  /** A map, because a client may name a tool `constructor`. */
  readonly #tools: ReadonlyMap<string, readonly string[]>;
  readonly #tasks: readonly string[];

  /** Throws `configuration` for an invalid scope. */
  constructor(rules: ScopeRules) {
    assertOptionNames("scopes", rules, scopeRules);
    const { required = [], tools = {}, tasks = [], advertised = required } = rules;
    this.required = [...required];
    this.advertised = [...advertised];
    this.#tools = new Map(Object.entries(tools).map(([name, scopes]) => [name, [...scopes]]));
    this.#tasks = [...tasks];
    for (const scope of [...required, ...advertised, ...tasks, ...Object.values(tools).flat()]) {
      if (typeof scope === "string" && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope)) continue;
      throw new HoldfastError("configuration", `${JSON.stringify(scope)} is not a valid scope.`);
    }
  }

  /** The scopes that a body needs, which is a message or a batch: every message counts. */
  neededFor(body: unknown, isPollingTool: IsPollingTool = () => false): ReadonlySet<string> {
    const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
    return new Set([
      ...this.required,
      ...messages.flatMap((message) => this.#ofMessage(message, isPollingTool)),
    ]);
  }

  /** The tools whose calls need scopes. */
  get scopedTools(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** The scopes that a tool's calls need, besides those of every request. */
  ofTool(name: string): readonly string[] {
    return this.#tools.get(name) ?? [];
  }

  /** Reads only the message, because that is what the server executes; headers may say anything. */
  #ofMessage(message: unknown, isPollingTool: IsPollingTool): readonly string[] {
    if (!isJsonObject(message)) return [];
    const { method, params } = message;
    if (typeof method !== "string") return [];
    if (method.startsWith("tasks/") || namedResourceOf(method, params) !== undefined) return this.#tasks;
    if (method === listenMethod) return taskListening(params) === undefined ? [] : this.#tasks;
    const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
    if (typeof name !== "string") return [];
    const own = this.ofTool(name);
    return isPollingTool(name) ? [...this.#tasks, ...own] : own;
  }
}
