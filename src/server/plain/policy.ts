import type { Registry } from "../../runtime/tool/registry.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { assertPlainDeadline } from "../../runtime/tool/assert-tool-config.ts";
import { HoldfastError } from "../../task/fault.ts";
import { companionKinds, defaultNames, type CompanionKind, type CompanionNames } from "./companion-names.ts";

/** How callers are answered whose client has no tasks; every member has a default. */
export interface PlainOptions {
  readonly plain: PlainPolicy;
  readonly plainDeadlineMs: number;
  readonly companions: Partial<CompanionNames>;
}

/** The policies of a server's tools towards callers without tasks. */
export class PlainPolicies {
  readonly names: CompanionNames;
  readonly #registry: Registry;
  readonly #options: PlainOptions;
  #hasTickets: boolean | undefined;

  /** Throws `configuration` for options that cannot work. */
  constructor(registry: Registry, options: PlainOptions) {
    if (options.plain !== "wait" && options.plain !== "ticket") {
      throw new HoldfastError("configuration", 'plain has to be "wait" or "ticket".');
    }
    assertPlainDeadline("plainDeadlineMs", options.plainDeadlineMs);
    this.#registry = registry;
    this.#options = options;
    this.names = namesFrom(options.companions);
  }

  /** Undefined for a tool whose calls are never kept for such a caller. */
  of(tool: Tool): PlainPolicy | undefined {
    return tool.task === "optional" ? (tool.plain ?? this.#options.plain) : undefined;
  }

  /** How long a call of the tool, or of `task_result` for it, waits before it is answered with a ticket, in ms. */
  deadlineOf(tool: Tool | undefined): number {
    return tool?.plainDeadlineMs ?? this.#options.plainDeadlineMs;
  }

  /** Whether any tool may answer with a ticket, so that companions are needed. To be asked when all tools are there. */
  get hasTickets(): boolean {
    this.#hasTickets ??= this.#registry.all().some((tool) => this.of(tool) === "ticket");
    return this.#hasTickets;
  }

  /** The companion of that name, where there are any. */
  companion(name: unknown): CompanionKind | undefined {
    if (!this.hasTickets) return undefined;
    return companionKinds.find((kind) => this.names[kind] === name);
  }

  /** Throws `configuration` where a tool has the name of a companion. */
  assertNoCollision(): void {
    if (!this.hasTickets) return;
    for (const kind of companionKinds) {
      if (this.#registry.get(this.names[kind]) !== undefined) throw nameTaken(kind, this.names[kind]);
    }
  }
}

/** Throws `configuration` for names that cannot all be told apart, or are none; in JavaScript, any can be given. */
function namesFrom(companions: Readonly<Record<string, unknown>>): CompanionNames {
  const given = Object.entries(companions).filter(([, name]) => name !== undefined);
  const names: Readonly<Record<string, unknown>> = { ...defaultNames, ...Object.fromEntries(given) };
  const all = Object.values(names);
  const fit = all.every((name) => typeof name === "string" && /^[\w.-]{1,128}$/.test(name) && !(name in {}));
  if (!fit || all.length > companionKinds.length || new Set(all).size < all.length) {
    throw new HoldfastError("configuration", "Each companion tool needs a name of its own.");
  }
  return names as CompanionNames;
}

/** The fault of a server whose tool has the name of a companion. */
export function nameTaken(kind: CompanionKind, name: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "configuration",
    `Tool "${name}" has the name of a companion of tools with tickets. Rename it, or set companions.${kind}.`,
    { cause },
  );
}
