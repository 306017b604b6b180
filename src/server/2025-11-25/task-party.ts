import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { OnError } from "../answer.ts";
import type { Connection } from "../connection/connection.ts";

/** A `tasks/result` that is not answered yet. */
export interface Waiter {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly settled: PromiseWithResolvers<TaskSnapshot>;
  /** False once its stream broke: the answer may still be read by resuming it, but nothing is asked there. */
  open: boolean;
}

/** The connection that a task was created on. */
export interface Creator {
  readonly connection: Connection;
  readonly progressToken: string | number | undefined;
}

export interface TaskLineSetup {
  readonly runtime: Runtime;
  readonly id: string;
  readonly requestor: Requestor;
  readonly onError: OnError;
  /** There is nobody left who wants to hear of the task. */
  readonly onEnd: () => void;
}
