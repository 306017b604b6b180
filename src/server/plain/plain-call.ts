import type { JsonObject } from "../../generation/json-object.ts";
import type { Requestor } from "../../runtime/runtime.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Answer } from "../answer.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { PlainOwner } from "./owner.ts";

/** A call of a client without tasks, and what the revision that it speaks makes of it. */
export interface PlainCall {
  readonly request: ToolRequest;
  readonly owner: PlainOwner;
  /** What the client can be asked on this call; empty where no question reaches it. */
  readonly capabilities: JsonObject;
  /** The answer that a tool's outcome is. */
  answerOf(outcome: Outcome): Answer;
  /** Puts the open questions of the task to the client until the signal aborts; left out where rounds do it. */
  attend?(id: string, requestor: Requestor, signal: AbortSignal): void;
  /** The answer that asks the open questions, where a question is an answer and a call is made again with its answers. */
  askByAnswer?(snapshot: TaskSnapshot): Promise<Answer>;
  /** Sends progress under the call's token; does nothing where it has none. */
  progress(report: JsonObject): void;
  /** Runs `action` once with whether the answer that this call returns has reached its client, as far as can be known. */
  afterAnswer(action: (arrived: boolean) => void): void;
  /** Whether its client waits for the answer now, as far as can be known; one whose connection is gone does not. */
  isWaitedFor(): boolean;
  /** Of a call whose signal has aborted: whether its client does not want it any more. */
  calledOff(): boolean;
}
