import type { SecretName } from "../runtime/secrets.ts";
import type { Secret } from "../task/secret.ts";
import type { JSONRPCRequest, McpRequestContext, McpServer } from "@modelcontextprotocol/server";
import type { Admin } from "../admin/operations.ts";
import type { TaskListening } from "../generation/2026-07-28-listen.ts";
import { HoldfastError } from "../task/fault.ts";
import type { StoreClock } from "../runtime/clock.ts";
import type { ServerEvents } from "../runtime/events/server-events.ts";
import type { RuntimeSettings } from "../runtime/options.ts";
import type { SessionStore } from "../store/session-store.ts";
import type { Dispatcher } from "./2026-07-28/dispatcher.ts";
import type { Answer, MessageContext, Owner } from "./request.ts";
import type { ErrorOf, OnError } from "./faults.ts";
import type { Listening } from "./listen/listening.ts";
import type { Rates } from "./rates.ts";
import type { ServerIdentity } from "./server-identity.ts";
import type { Amend, DispatchedServer } from "./dispatch/dispatch-transport.ts";
import type { SessionDispatcher } from "./sessions/session-dispatcher.ts";
import type { Streams } from "./streams.ts";
import type { RequestTracing } from "./tracing.ts";

/** Your servers with the task tools added, for `serveHttp`, `serveStdio` and mounted handlers. */
export interface TaskServer {
  /** By which stored times are judged. */
  readonly clock: StoreClock;
  readonly options: RuntimeSettings;
  /** The operators' actions, for an endpoint that authenticates operators. */
  readonly admin: Admin;
  readonly onError: OnError;
  /** Undefined if nothing listens. */
  readonly events: ServerEvents | undefined;
  /** The error that a caller gets for a fault. Details that it must not see go to `onError`. */
  readonly errorOf: ErrorOf;
  /** Undefined if nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  readonly legacyErrorCodes: boolean;
  /** Answers requests of protocol 2026-07-28 that Holdfast handles. */
  readonly dispatcher: Dispatcher;
  /** The key of that name in the store, the same in all its processes. Rejects with the store's errors. */
  readonly secret: (name: SecretName) => Promise<Secret>;
  /** Undefined if the store keeps no sessions. */
  readonly sessionStore: SessionStore | undefined;
  /** The name and version of the author's server. */
  readonly identity: ServerIdentity;
  /** Whether the SDK also has to check the headers of an HTTP call, which repeat arguments of the tool. */
  declaresHeaders(tool: unknown): boolean;
  /** A server with our tools and methods only, which the SDK uses to validate requests. */
  verdictServer(): Promise<McpServer>;
  /** Calls `listener` when clients should hear that the list of tools changed. Returns a function that stops this. */
  onListChange(listener: () => void): () => void;
  /** How to amend the SDK's answer to a request of protocol 2026-07-28 for its client; undefined: not at all. */
  amendmentFor(method: string, params: unknown): Amend | undefined;
  /** Rate limits. A message has to pass them before it reaches a server that `create` made. */
  readonly rates: Rates;
  /** Whether the tool of that name is a polling tool. */
  readonly isPollingTool: (tool: string) => boolean;
  /** Recovers the tasks of an earlier process and begins to run tasks. */
  start(): Promise<void>;
  /** Starts no more tasks and lets running handlers end early. Requests are answered until `stop`. */
  drain(): void;
  /** Stops in order within that many milliseconds; default `stopDeadlineMs`. */
  stop(withinMs?: number): Promise<void>;
  /** Whether an operator drains this process. */
  readonly isDrained: boolean;
  /** Whether it has started, takes work, and its store answers and takes writes. */
  ready(): Promise<boolean>;
  /** A new server for one request or connection of `owner`. */
  create(context: McpRequestContext, owner: Owner, streams?: Streams): Promise<McpServer>;
  /** The same for a connection of an earlier revision. */
  openSession(
    context: McpRequestContext,
    owner: Owner,
    streams?: Streams,
  ): Promise<DispatchedServer<SessionDispatcher>>;
  /**
   * Answers a request about tasks that came without a session and does not need the author's server; undefined if the author's server may
   * answer it.
   */
  poll(
    request: JSONRPCRequest,
    owner: Owner,
    streams: Streams,
    extra: MessageContext,
  ): Promise<Answer> | undefined;
  /** Whether the server can repeat a request of a session itself: the request changes nothing, and may take long. */
  isRepeatable(request: JSONRPCRequest): boolean;
  /** The number of requests that wait for the end of a task. A stop does not wait for them. */
  readonly waiting: number;
  /** Changes of the given tasks, logs and outputs that the owner may see. Rejects with `limit_reached`. */
  listen(asked: TaskListening, owner: Owner): Promise<Listening>;
  /** The scopes needed for the principal's tasks that a body names. The body is a message or a batch. */
  scopesOfTasks(body: unknown, principal: string | null): Promise<ReadonlySet<string>>;
}

/** Throws `configuration` if a caller passed something that `tasks.server` or `durable` did not return, or that takes no requests. */
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
export function assertServes({ roles }: RuntimeSettings): void {
  if (roles.includes("serve")) return;
  throw new HoldfastError(
    "configuration",
    'This process has only the role "work", so it does not accept requests. Call start() to run handlers, or add the role "serve".',
  );
}
