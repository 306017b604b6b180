import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { isForPeople } from "../../runtime/questions/questions.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { PlainPolicy } from "../../runtime/tool/tool-options.ts";
import { type InputRequest, missingForInput } from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";
import { type Settings, settingsOf } from "../../options/options.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { pollingToolOptions, type PollingToolOptions, type TaskSettings } from "../tasks-options.ts";
import { deadlineOfHost, type ClientName, type SeenPatience } from "./patience.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Answer, ToolRequest } from "../request.ts";
import type { Attendance, CallStream } from "../waiting-call.ts";

/** What the model can answer with a polling tool if the client cannot be asked. */
const answeredByModel: readonly string[] = ["elicitation", "sampling"];

/** The questions that a task may ask: those that the client can answer and, with tickets, those that its model can. */
export function askable(capabilities: JsonObject, policy: PlainPolicy): JsonObject {
  if (policy === "wait") return capabilities;
  const { elicitation, sampling = {} } = capabilities;
  return { ...capabilities, sampling, elicitation: withForms(elicitation) };
}

/** What the tool requires and neither the client has declared nor, with tickets, its model can answer. */
export function lacking(
  { requires }: Tool,
  capabilities: JsonObject,
  policy?: PlainPolicy,
): readonly string[] {
  return requires.filter(
    (name) => !isJsonObject(capabilities[name]) && !(policy === "ticket" && answeredByModel.includes(name)),
  );
}

/** The error text for a call whose client lacks what the tool requires. */
export function cannotAsk({ name }: Tool, missing: readonly string[]): string {
  return `Tool ${name} needs client capabilities that the client did not declare: ${missing.join(", ")}.`;
}

/**
 * Before 2026-07-28, the fault of a call that asks for a task and whose client lacks what the tool requires. A call without
 * a task gets the same text as a result.
 */
export function refusedAsTask(tool: Tool, capabilities: JsonObject): HoldfastError | undefined {
  const missing = lacking(tool, capabilities);
  return missing.length === 0 ? undefined : new HoldfastError("invalid_params", cannotAsk(tool, missing));
}

/** Whether the client itself can be asked the question. */
export function canBeAsked({ method, params }: InputRequest, capabilities: JsonObject): boolean {
  return missingForInput(method, JSON.parse(params) as JsonObject, capabilities) === undefined;
}

/** Whether the model answers the question, since its client cannot be asked. */
export function isForModel(question: InputRequest, capabilities: JsonObject): boolean {
  return !canBeAsked(question, capabilities) && !isForPeople(question);
}

/** A client that names no mode of elicitation supports forms; one that names some supports these only. */
function withForms(elicitation: unknown): JsonObject {
  if (!isJsonObject(elicitation)) return {};
  return Object.keys(elicitation).length === 0 ? elicitation : { ...elicitation, form: {} };
}

/**
 * How a caller left before its answer. `cancelled`: it wants no result. `timed_out`: it waited for as long as it could, and its
 * model may well call again.
 */
export type Departure = "cancelled" | "timed_out";

/**
 * What clients send in `notifications/cancelled` on a timeout: "McpError: MCP error -32001: Request timed out" and "Maximum total timeout
 * exceeded" (the SDKs for TypeScript), "timed out after 30s" (Python), "context deadline exceeded" (Go), "request timeout" (Rust),
 * "TimeoutError: The operation was aborted due to timeout" (AbortSignal.timeout).
 */
const timeIsOver = /tim(?:e|ed|es|ing)[\s_-]?out|deadline exceeded/i;

/** What a person cancels is mostly cancelled sooner than this, and no client times out sooner, in ms. */
const shortestTimeoutMs = 5_000;

/**
 * By the reason of the client's cancel, a text for people. A wrong guess costs little: the task runs on for the grace period, or is
 * cancelled like any task whose caller cancels it.
 */
export function departureByReason(reason: unknown): Departure {
  return typeof reason === "string" && timeIsOver.test(reason) ? "timed_out" : "cancelled";
}

/** By how long the client waited until it closed the stream, which is all that is known since 2026-07-28. */
export function departureAfter(waitedMs: number): Departure {
  return waitedMs > shortestTimeoutMs ? "timed_out" : "cancelled";
}

/** The polling tools, which a model uses after a ticket to get the result, cancel, answer a question or list calls. */
const pollingToolKinds = ["result", "cancel", "answer", "list"] as const;

export type PollingToolKind = (typeof pollingToolKinds)[number];

/** The names of those that exist. */
export type PollingToolNames = Settings<PollingToolOptions, "answer" | "list">;

/** How the server answers clients without tasks. */
export type PlainOptions = Pick<
  TaskSettings,
  "plain" | "plainDeadlineMs" | "hostTimeoutsMs" | "plainGraceMs" | "pollingTools"
>;

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
    this.names = namesFrom(options.pollingTools ?? {});
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
  deadlineOf(tool: Tool | undefined, { client, patience }: Pick<PlainCall, "client" | "patience">): number {
    const { plainDeadlineMs, hostTimeoutsMs = {} } = this.#options;
    const deadlineMs = tool?.plainDeadlineMs ?? plainDeadlineMs ?? deadlineOfHost(client, hostTimeoutsMs);
    return patience?.within(deadlineMs) ?? deadlineMs;
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

/** The generation of tasks for callers without tasks. */
export const generation = "plain";

/** The caller, if known. */
export interface PlainOwner {
  /** Null if the server does not tell callers apart. */
  readonly principal: string | null;
  /** Distinguishes callers without a principal; undefined for a request without a session. */
  readonly session: string | undefined;
  /** The scopes of the caller's token; left out: all. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * The scope in which a caller's references are unique: its principal, or else its session. Undefined for an unknown caller, whose tasks can
 * then be found by their ids only.
 */
export function scopeOf({ principal, session }: PlainOwner): string | undefined {
  if (principal !== null) return `principal:${principal}`;
  return session === undefined ? undefined : `session:${session}`;
}

/** A call of a client without tasks, as its revision of the protocol serves it. */
export interface PlainCall {
  readonly request: ToolRequest;
  readonly owner: PlainOwner;
  /** What the client can be asked on this call; empty if no question reaches it. */
  readonly capabilities: JsonObject;
  /** Undefined if it did not say. */
  readonly client: ClientName | undefined;
  /** What is known of its session; left out for a revision without sessions. */
  readonly patience?: SeenPatience;
  /** Called when the call waits for a task that another call created; left out if nothing needs it. */
  joined?(task: string): void;
  /** The answer in the form of the revision. */
  answerOf(outcome: Outcome): Answer;
  /** Asks the client what the task asks, as long as the call waits for it; left out if `askByAnswer` does it. */
  attend?(task: TaskRecord): Attendance;
  /** The answer that asks the open questions (MRTR): the client makes the call again with their answers. */
  askByAnswer?(snapshot: TaskSnapshot): Promise<Answer>;
  readonly stream: CallStream;
  /** Whether the client waits for the answer now, as far as the transport knows: not if its connection broke. */
  isWaitedFor(): boolean;
  /** Calls `listener` when its connection breaks; returns a function that stops this. Left out if that aborts the signal. */
  onBroken?(listener: () => void): () => void;
  /** How the client left, if the signal aborted since it did. */
  departure(): Departure | undefined;
}
