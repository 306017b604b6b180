import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { OnError } from "../answer.ts";
import type { Connection } from "../connection/connection.ts";
import type { Voice } from "./voice.ts";

/** A request that is answered with the end of the task. */
export interface Waiter {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly settled: PromiseWithResolvers<TaskSnapshot>;
  /** Under which progress is told on its stream. */
  readonly progressToken: string | number | undefined;
  /** False once its stream broke: the answer may still be read by resuming it, but nothing is asked there. */
  open: boolean;
}

/** A connection that a task was created on, or polled on when no such connection could be reached. */
export interface Follower {
  readonly connection: Connection;
  readonly progressToken: string | number | undefined;
  /** Whether its client has the id by now: a question that overtakes it is of no task that the client knows. */
  informed: boolean;
}

export interface TaskLineSetup {
  readonly runtime: Runtime;
  readonly id: string;
  readonly wireId: string;
  readonly requiredScopes: readonly string[];
  readonly requestor: Requestor;
  readonly onError: OnError;
  readonly voice: Voice;
  /** There is nobody left who wants to hear of the task. */
  readonly onEnd: () => void;
}
