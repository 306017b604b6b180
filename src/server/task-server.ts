import type {
  JSONRPCRequest,
  McpRequestContext,
  McpServer,
  MessageExtraInfo,
} from "@modelcontextprotocol/server";
import type { Admin } from "../admin/admin.ts";
import type { TaskListening } from "../generation/2026-07-28/listen.ts";
import { HoldfastError } from "../task/fault.ts";
import type { ServerEvents } from "../runtime/events/server-events.ts";
import type { RuntimeOptions } from "../runtime/options.ts";
import type { SessionStore } from "../store/session-store.ts";
import type { Dispatcher } from "./2026-07-28/dispatcher.ts";
import type { Answer } from "./answer.ts";
import type { ErrorOf, OnError } from "./faults.ts";
import type { Listening } from "./listen/listening.ts";
import type { Rates } from "./rates/rates.ts";
import type { Owner } from "./request.ts";
import type { ServerIdentity } from "./server-identity.ts";
import type { Amend } from "./dispatch/dispatch-transport.ts";
import type { DispatchedServer } from "./dispatch/dispatched-server.ts";
import type { SessionDispatcher } from "./sessions/session-dispatcher.ts";
import type { Streams } from "./streams.ts";
import type { RequestTracing } from "./tracing/request-tracing.ts";

/** The author's servers with the task tools added, for `serveHttp`, `serveStdio` and handlers to mount. */
export interface TaskServer {
  readonly options: RuntimeOptions;
  /** What operators may do, for an endpoint that asks who they are. */
  readonly admin: Admin;
  readonly onError: OnError;
  /** Undefined where nobody listens. */
  readonly events: ServerEvents | undefined;
  /** The error that a caller gets for a fault; what it must not see goes to `onError`. */
  readonly errorOf: ErrorOf;
  /** Undefined where nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  readonly legacyErrorCodes: boolean;
  /** Answers the requests of protocol 2026-07-28 that are ours. */
  readonly dispatcher: Dispatcher;
  /** Undefined if the store keeps no sessions. */
  readonly sessionStore: SessionStore | undefined;
  /** What the author's server calls itself. */
  readonly identity: ServerIdentity;
  /** Whether the SDK has more to check of a call over HTTP: the headers that repeat arguments of its tool. */
  declaresHeaders(tool: unknown): boolean;
  /** A server with our tools and methods only, with which the SDK validates requests. */
  verdictServer(): Promise<McpServer>;
  /** Calls `listener` when clients are to hear that the list of tools has changed. Returns what ends that. */
  onListChange(listener: () => void): () => void;
  /** How the SDK's answer to a request of protocol 2026-07-28 is amended for its client; undefined: not at all. */
  amendmentFor(method: string, params: unknown): Amend | undefined;
  /** Rate limits. A message has to pass them before a server gets it that `create` made. */
  readonly rates: Rates;
  /** Whether the tool of that name is a polling tool. */
  readonly isPollingTool: (tool: string) => boolean;
  /** Recovers the tasks of an earlier process, and begins to run tasks. */
  start(): Promise<void>;
  /** Starts no more tasks and lets running handlers end early; requests are answered until `stop`. */
  drain(): void;
  /** Ends in order within that many milliseconds; by default `stopDeadlineMs`. */
  stop(withinMs?: number): Promise<void>;
  /** Whether it has started and its store answers. */
  ready(): Promise<boolean>;
  /** A fresh server for one request or connection of `owner`. */
  create(context: McpRequestContext, owner: Owner, streams?: Streams): Promise<McpServer>;
  /** The same for a connection of an earlier revision. */
  openSession(
    context: McpRequestContext,
    owner: Owner,
    streams?: Streams,
  ): Promise<DispatchedServer<SessionDispatcher>>;
  /**
   * Answers a request about tasks that came without a session, and needs no server of the author's; undefined for one that the
   * author's server may answer.
   */
  poll(request: JSONRPCRequest, owner: Owner, extra: MessageExtraInfo): Promise<Answer> | undefined;
  /** Whether a request of a session can be made again by the server itself: it changes nothing, and may take long. */
  isRepeatable(request: JSONRPCRequest): boolean;
  /** How many requests wait for the end of a task. A stop does not wait for them. */
  readonly waiting: number;
  /** The changes of those of the tasks, logs and outputs that the owner may see; rejects with `limit_reached`. */
  listen(asked: TaskListening, owner: Owner): Promise<Listening>;
  /** The scopes that are needed for the principal's tasks that a body names, which is a message or a batch. */
  scopesOfTasks(body: unknown, principal: string | null): Promise<ReadonlySet<string>>;
}

/** Throws `configuration` if a caller passed something other than what `tasks.server` or `durable` returns, or what takes no requests. */
export function assertTaskServer(caller: string, server: unknown): asserts server is TaskServer {
  if (isTaskServer(server)) return assertServes(server.options);
  throw new HoldfastError(
    "configuration",
    `${caller} takes what tasks.server returns: ${caller}(tasks.server(() => new McpServer({ name, version }))).`,
  );
}

function isTaskServer(server: unknown): server is TaskServer {
  return typeof server === "object" && server !== null && "create" in server && "errorOf" in server;
}

/** Throws `configuration` for tasks without the role `serve`. */
export function assertServes({ roles }: RuntimeOptions): void {
  if (roles.includes("serve")) return;
  throw new HoldfastError(
    "configuration",
    'These tasks have the role "work" alone, and take no requests: call start() to run handlers, or give them the role "serve" too.',
  );
}
