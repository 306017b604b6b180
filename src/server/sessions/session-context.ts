import type { ServerEvents } from "../../runtime/events/server-events.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { OtherRequest } from "../../runtime/tool/registry.ts";
import type { Access } from "../request.ts";
import type { ErrorOf, OnError } from "../faults.ts";
import type { Rates } from "../rates/rates.ts";
import type { TaskSubscriptions } from "../subscriptions/task-subscriptions.ts";
import type { PlainPolicies } from "../plain/plain-policies.ts";
import type { ForwardedRequests, RequestForwarder } from "../sep-1686/forwarded-requests.ts";
import type { SepSession } from "../sep-1686/sep-session.ts";
import type { Client } from "./client.ts";
import type { DirectCalls } from "./direct-calls.ts";
import type { TaskSession } from "./task-session.ts";

/** What all connections of earlier revisions share. */
export interface SessionServices {
  readonly runtime: Runtime;
  readonly rates: Rates;
  readonly policies: PlainPolicies;
  /** Calls that ask for no task. */
  readonly calls: DirectCalls;
  /** Which connections are notified of tasks of 2025-11-25, and of SEP-1686. */
  readonly subscriptions: { readonly core: TaskSubscriptions; readonly sep: TaskSubscriptions };
  readonly forwarder: RequestForwarder;
  /** Refuses calls that could ask for a task and do not (C-029). */
  readonly requireTasks: boolean;
  readonly errorOf: ErrorOf;
  readonly onError: OnError;
  /** Receives refused requests. */
  readonly events: ServerEvents | undefined;
}

/** One connection of an earlier revision. */
export interface SessionContext {
  readonly client: Client;
  readonly core: TaskSession;
  /** Undefined for a client that cannot have tasks of SEP-1686. */
  readonly sep: { readonly session: SepSession; readonly forwarded: ForwardedRequests } | undefined;
  /** What the first request of the connection was allowed to do; undefined: everything that its principal may. */
  readonly access: Access | undefined;
  /** Whether the author's server answers such requests. */
  readonly serves: (method: OtherRequest) => boolean;
}
