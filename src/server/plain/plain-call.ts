import type { JsonObject } from "../../generation/message.ts";
import type { Requestor } from "../../runtime/runtime.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { LogLevel } from "../../task/task-line.ts";
import type { Answer } from "../answer.ts";
import type { ToolRequest } from "../request.ts";
import type { Departure } from "./departure.ts";

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
  /** Called when the call waits for a task that another call created; left out if nothing needs it. */
  joined?(task: string): void;
  /** The answer in the form of the revision. */
  answerOf(outcome: Outcome): Answer;
  /** Asks the client the open questions of the task until the signal aborts; left out if `askByAnswer` does it. */
  attend?(id: string, requestor: Requestor, signal: AbortSignal): void;
  /** The answer that asks the open questions (MRTR): the client makes the call again with their answers. */
  askByAnswer?(snapshot: TaskSnapshot): Promise<Answer>;
  /** From which level on its client wants log messages now; undefined: it wants none. */
  logLevel(): LogLevel | undefined;
  /** Sends a log message with these params. */
  log(params: JsonObject): void;
  /** Whether its client wants progress. */
  readonly hasProgressToken: boolean;
  /** Sends progress under the call's progress token; does nothing if it has none. */
  progress(report: JsonObject): void;
  /** Calls `action` once, with whether the answer to this call has reached the client, as far as the transport knows. */
  afterAnswer(action: (arrived: boolean) => void): void;
  /** Whether the client waits for the answer now, as far as the transport knows: not if its connection broke. */
  isWaitedFor(): boolean;
  /** Calls `listener` when its connection breaks; returns a function that stops this. Left out if that aborts the signal. */
  onBroken?(listener: () => void): () => void;
  /** How the client left, if the signal aborted since it did. */
  departure(): Departure | undefined;
}
