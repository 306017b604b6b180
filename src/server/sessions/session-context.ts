import { generation as core, declaresTasks } from "../../generation/2025-11-25.ts";
import { declaresTask, namesTask, generation as sep, taskKey } from "../../generation/sep-1686.ts";
import type { JsonObject } from "../../generation/message.ts";
import { declaresTaskLines } from "../../generation/extensions.ts";
import type { Connection } from "../connection/connection.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { OtherRequest } from "../../runtime/tool/registry.ts";
import type { Access, MessageContext } from "../request.ts";
import type { ErrorOf, OnError } from "../faults.ts";
import type { Rates } from "../rates.ts";
import type { TaskSubscriptions } from "../subscriptions/subscriptions.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { PollingTools } from "../plain/polling-tools.ts";
import type { ForwardedRequests, RequestForwarder, SepSession } from "../sep-1686/forwarded-requests.ts";
import type { TaskSession } from "./task-session.ts";

/** The generations of tasks that a session can have. */
export type SessionGeneration = typeof core | typeof sep;

/** The generation of the revision itself; undefined stands for a revision that is not agreed on yet. */
function ownGeneration(version: string | undefined): SessionGeneration {
  return version === core ? core : sep;
}

/**
 * The generations whose tasks the sender of a request uses, as far as its params show that: `params.task` is of 2025-11-25, and the keys of
 * SEP-1686 in `_meta` are its own.
 */
export function generationsUsedIn(params: JsonObject): readonly SessionGeneration[] {
  return [...(params["task"] === undefined ? [] : [core]), ...(namesTask(params) ? [sep] : [])];
}

/** The params of a request that shows the use of the generation, and asks for nothing. */
export function paramsThatUse(generation: SessionGeneration): JsonObject {
  return generation === core ? { task: {} } : { _meta: { [taskKey]: {} } };
}

/** The generation of a name that was stored. */
export function isSessionGeneration(name: unknown): name is SessionGeneration {
  return name === core || name === sep;
}

export const listMethod = "tasks/list";

/** Which tasks the client of a connection of an earlier revision knows, judging by its requests. */
export class Client {
  readonly #connection: Connection;
  /** The generations that it has used in this session; without sessions, in this request. */
  readonly #used = new Set<SessionGeneration>();
  /** The revision that a request without a session names. */
  #named: string | undefined = core;
  readonly #canHaveSep: boolean;

  /** `canHaveSep`: whether it can have tasks of SEP-1686. */
  constructor(connection: Connection, canHaveSep: boolean) {
    this.#connection = connection;
    this.#canHaveSep = canHaveSep;
  }

  /** Called with each request before it is answered, and with the revision that it names, if any. */
  requested(params: JsonObject, version: string | undefined): void {
    if (!this.#connection.streams.initialized) {
      this.#used.clear();
      this.#named = version ?? core; // clients of that revision need not name it on their handshake
    }
    for (const generation of generationsUsedIn(params)) this.#used.add(generation);
  }

  /** Whether tasks of 2025-11-25 were declared to it. */
  get hasCore(): boolean {
    return this.#own === core;
  }

  /** Whether it has no tasks: it has neither declared nor used those that it can have. Others need no tickets. */
  get isPlain(): boolean {
    if (this.hasUsedTasks || this.#declaresSep) return false;
    return !this.hasCore || !declaresTasks(this.#connection.capabilities);
  }

  /**
   * Whether it has asked for tasks that it can have. What it declares says only what it can receive, which may be questions of the server, and
   * nothing about what its calls need.
   */
  get hasUsedTasks(): boolean {
    return (this.#canHaveSep && this.#used.has(sep)) || (this.hasCore && this.#used.has(core));
  }

  /** Whether to tell it that logs and outputs of tasks are resources. */
  get asksForLines(): boolean {
    return declaresTaskLines(this.#connection.capabilities, "experimental");
  }

  /** The generations whose tasks it sees. */
  get generations(): ReadonlySet<SessionGeneration> {
    return new Set([this.#own, ...this.#used, ...(this.#declaresSep ? [sep] : [])]);
  }

  /**
   * The generation in whose form a request is answered that could be of several: the one that it names, or else that of the client's
   * declaration or revision. The request for a list names none in SEP-1686 either: it is of the only one that the client has used.
   */
  formOf(method: string, params: JsonObject): SessionGeneration {
    const named = generationsUsedIn(params);
    const [shown, another] = named.length === 0 && method === listMethod ? this.#used : named;
    if (shown !== undefined && another === undefined) return shown;
    return this.#declaresSep ? sep : this.#own;
  }

  get #own(): SessionGeneration {
    const { streams, protocolVersion } = this.#connection;
    return ownGeneration(streams.initialized ? protocolVersion : this.#named);
  }

  get #declaresSep(): boolean {
    const { capabilities } = this.#connection;
    return (
      declaresTask(capabilities, "elicitation/create") || declaresTask(capabilities, "sampling/createMessage")
    );
  }
}

/** What all connections of earlier revisions share. */
export interface SessionServices {
  readonly runtime: Runtime;
  readonly rates: Rates;
  readonly plain: PlainCalls;
  readonly pollingTools: PollingTools;
  /** Which connections are notified of tasks of 2025-11-25, and of SEP-1686, and asked the questions of calls without tasks. */
  readonly subscriptions: Readonly<Record<SessionGeneration | "plain", TaskSubscriptions>>;
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
  readonly services: SessionServices;
  readonly client: Client;
  readonly core: TaskSession;
  /** Undefined for a client that cannot have tasks of SEP-1686. */
  readonly sep: { readonly session: SepSession; readonly forwarded: ForwardedRequests } | undefined;
  /** What the first request of the connection was allowed to do; undefined: everything that its principal may. */
  readonly access: Access | undefined;
  /** Whether the author's server answers such requests. */
  readonly serves: (method: OtherRequest) => boolean;
}

/** What the sender of a message of a session may do; undefined if nothing limits that. */
export function accessOf(
  { access }: Pick<SessionContext, "access">,
  extra: MessageContext | undefined,
): Access | undefined {
  return access && { ...access, scopes: extra?.authInfo?.scopes ?? [] };
}
