import type { Registry } from "../../runtime/tool/registry.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { assertPlainDeadline } from "../../runtime/tool/assert-tool-config.ts";
import { HoldfastError } from "../../task/fault.ts";

/** The polling tools, which a model uses after a ticket: they get the result, cancel, answer a question, list calls. */
export const pollingToolKinds = ["result", "cancel", "answer", "list"] as const;

export type PollingToolKind = (typeof pollingToolKinds)[number];

/** The names of the polling tools. */
export type CompanionNames = Readonly<Record<PollingToolKind, string>>;

export const defaultNames: CompanionNames = {
  result: "task_result",
  cancel: "task_cancel",
  answer: "task_answer",
  list: "task_list",
};

/** How the server answers clients without tasks. */
export interface PlainOptions {
  readonly plain: PlainPolicy;
  readonly plainDeadlineMs: number;
  readonly companions: Partial<CompanionNames>;
}

/** How the calls of each tool are answered to clients without tasks. */
export class PlainPolicies {
  readonly names: CompanionNames;
  readonly #registry: Registry;
  readonly #options: PlainOptions;
  #hasTickets: boolean | undefined;

  /** Throws `configuration` for invalid options. */
  constructor(registry: Registry, options: PlainOptions) {
    if (options.plain !== "wait" && options.plain !== "ticket") {
      throw new HoldfastError("configuration", 'plain has to be "wait" or "ticket".');
    }
    assertPlainDeadline("plainDeadlineMs", options.plainDeadlineMs);
    this.#registry = registry;
    this.#options = options;
    this.names = namesFrom(options.companions);
  }

  /** Undefined for a tool whose calls have no task for such a client. */
  of(tool: Tool): PlainPolicy | undefined {
    return tool.task === "optional" ? (tool.plain ?? this.#options.plain) : undefined;
  }

  /** How long a call of the tool, or of `task_result` for it, waits before it gets a ticket, in ms. */
  deadlineOf(tool: Tool | undefined): number {
    return tool?.plainDeadlineMs ?? this.#options.plainDeadlineMs;
  }

  /** Whether a tool may answer with a ticket, so that there are polling tools. Read it when all tools are registered. */
  get hasTickets(): boolean {
    this.#hasTickets ??= this.#registry.all().some((tool) => this.of(tool) === "ticket");
    return this.#hasTickets;
  }

  /** The polling tool of that name; undefined if there is none. */
  pollingTool(name: unknown): PollingToolKind | undefined {
    if (!this.hasTickets) return undefined;
    return pollingToolKinds.find((kind) => this.names[kind] === name);
  }

  /** Throws `configuration` if a tool has the name of a polling tool. */
  assertNoCollision(): void {
    if (!this.hasTickets) return;
    for (const kind of pollingToolKinds) {
      if (this.#registry.get(this.names[kind]) !== undefined) throw nameTaken(kind, this.names[kind]);
    }
  }
}

/** Throws `configuration` for names that are invalid or the same. Authors may write JavaScript, which checks no types. */
function namesFrom(companions: Readonly<Record<string, unknown>>): CompanionNames {
  const given = Object.entries(companions).filter(([, name]) => name !== undefined);
  const names: Readonly<Record<string, unknown>> = { ...defaultNames, ...Object.fromEntries(given) };
  const all = Object.values(names);
  const fit = all.every((name) => typeof name === "string" && /^[\w.-]{1,128}$/.test(name) && !(name in {}));
  if (!fit || all.length > pollingToolKinds.length || new Set(all).size < all.length) {
    throw new HoldfastError(
      "configuration",
      "Each of the polling tools in companions needs a name of its own.",
    );
  }
  return names as CompanionNames;
}

/** The fault of a server that has a tool with the name of a polling tool. */
export function nameTaken(kind: PollingToolKind, name: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "configuration",
    `Tool "${name}" is named like a polling tool. Rename it, or set companions.${kind}.`,
    { cause },
  );
}
