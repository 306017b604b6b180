import type { RequestId } from "@modelcontextprotocol/server";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { OnError } from "../faults.ts";
import type { Connection } from "../connection/connection.ts";
import type { NotificationFormat } from "./notification-format.ts";

/** A request that is answered with the end of the task. */
export interface Waiter {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly settled: PromiseWithResolvers<TaskSnapshot>;
  /** For progress on its stream. */
  readonly progressToken: string | number | undefined;
  /** False once its stream broke: a client may still resume it for the answer, but nothing is asked on it. */
  open: boolean;
}

/** A connection on which a task was created, or polled when no such connection could be reached. */
export interface Subscriber {
  readonly connection: Connection;
  readonly progressToken: string | number | undefined;
  /** True if the task came from another process, which may still report it to the same client. */
  readonly isTakenUp?: true;
  /** Whether its client has the id of the task by now. Until then, it would not know which task a question is of. */
  informed: boolean;
}

export interface SubscriptionSetup {
  readonly runtime: Runtime;
  readonly id: string;
  readonly wireId: string;
  readonly requiredScopes: readonly string[];
  readonly requestor: Requestor;
  readonly onError: OnError;
  readonly format: NotificationFormat;
  /** Called when no connection is subscribed any more. */
  readonly onEnd: () => void;
}
