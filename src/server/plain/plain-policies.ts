import { settingsOf, type Settings } from "../../options/options.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { PlainPolicy } from "../../runtime/tool/tool-options.ts";
import { HoldfastError } from "../../task/fault.ts";
import { pollingToolOptions, type PollingToolOptions } from "../tasks-options.ts";

/** The polling tools, which a model uses after a ticket to get the result, cancel, answer a question or list calls. */
const pollingToolKinds = ["result", "cancel", "answer", "list"] as const;

export type PollingToolKind = (typeof pollingToolKinds)[number];

/** The names of those that exist. */
export type PollingToolNames = Settings<PollingToolOptions, "answer" | "list">;

/** How the server answers clients without tasks. */
export interface PlainOptions {
  /** Undefined: tickets, except for tools with an output schema. */
  readonly plain: PlainPolicy | undefined;
  readonly plainDeadlineMs: number;
  readonly plainGraceMs: number;
  readonly pollingTools: PollingToolOptions;
}

/** How each tool answers clients without tasks. */
export class PlainPolicies {
  readonly names: PollingToolNames;
  readonly #named: readonly (readonly [kind: PollingToolKind, name: string])[];
  readonly #registry: Registry;
  readonly #options: PlainOptions;
  #hasTickets = false;
  /** True once new tools are checked against the names of the polling tools. */
  #holdsNames = false;

  /** Throws `configuration` for invalid options. */
  constructor(registry: Registry, options: PlainOptions) {
    this.#registry = registry;
    this.#options = options;
    this.names = namesFrom(options.pollingTools);
    const look = (): void => {
      this.#hasTickets ||= registry.all().some((tool) => this.of(tool) === "ticket");
    };
    look();
    registry.onChange(look);
    registry.checkEach((tool) => this.#assertFits(tool));
    this.#named = pollingToolKinds.flatMap((kind) => {
      const name = this.names[kind];
      return name === undefined ? [] : [[kind, name] as const];
    });
  }

  /** Undefined for a tool whose calls have no task for such a client. */
  of(tool: Pick<Tool, "task" | "plain" | "outputSchema">): PlainPolicy | undefined {
    if (tool.task !== "optional") return undefined;
    // A ticket does not fit an output schema, and hosts that use one need the result itself.
    return tool.plain ?? this.#options.plain ?? (tool.outputSchema === undefined ? "ticket" : "wait");
  }

  /** How long the task of a call continues after its caller timed out, in ms. */
  get graceMs(): number {
    return this.#options.plainGraceMs;
  }

  /** How long a call of the tool, or of `task_result` for it, waits before it gets a ticket, in ms. */
  deadlineOf(tool: Tool | undefined): number {
    return tool?.plainDeadlineMs ?? this.#options.plainDeadlineMs;
  }

  /** Whether a tool may answer with a ticket, so that polling tools exist. Stays true if the tool is removed. */
  get hasTickets(): boolean {
    return this.#hasTickets;
  }

  /** The existing polling tools, with their names. */
  get pollingTools(): readonly (readonly [kind: PollingToolKind, name: string])[] {
    if (!this.hasTickets) return [];
    return this.#named;
  }

  /** The polling tool of that name; undefined if there is none. */
  pollingTool(name: unknown): PollingToolKind | undefined {
    return this.pollingTools.find(([, own]) => own === name)?.[0];
  }

  /** Throws `configuration` if a tool has the name of a polling tool. From then on, no tool can be added or changed to have one. */
  assertNoCollision(): void {
    this.#assertApart(this.#registry.all(), this.pollingTools);
    this.#holdsNames = true;
  }

  /** A tool with tickets adds the polling tools. */
  #assertFits(tool: Tool): void {
    if (!this.#holdsNames) return;
    const hasTickets = this.#hasTickets || this.of(tool) === "ticket";
    this.#assertApart([...this.#registry.all(), tool], hasTickets ? this.#named : []);
  }

  #assertApart(tools: readonly Tool[], pollingTools: PlainPolicies["pollingTools"]): void {
    for (const [kind, name] of pollingTools) {
      if (tools.some((tool) => tool.name === name)) throw nameTaken(kind, name);
    }
  }
}

/** Throws `configuration` for two equal names. */
function namesFrom(pollingTools: PollingToolOptions): PollingToolNames {
  const names = settingsOf<PollingToolOptions, "answer" | "list">(pollingToolOptions, pollingTools);
  const all = Object.values(names).filter((name) => name !== undefined);
  if (new Set(all).size === all.length) return names;
  throw new HoldfastError("configuration", "pollingTools gives two polling tools the same name.");
}

/** The fault of a server that has a tool with the name of a polling tool. */
export function nameTaken(kind: PollingToolKind, name: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "configuration",
    `Tool "${name}" has the same name as a polling tool. Rename it, or set pollingTools.${kind}.`,
    { cause },
  );
}
