import type { TimeSpan } from "../task/time.ts";
import type {
  ClientCapabilities,
  FetchLike,
  Implementation,
  JSONRPCMessage,
  OAuthClientProvider,
} from "@modelcontextprotocol/client";
import {
  askableGenerations,
  isSpokenIn,
  protocolVersions,
  type ProtocolVersion,
} from "../generation/generations.ts";
import { namesProblem, type OptionNames } from "../task/option-names.ts";
import type { LoginStore } from "./auth/login.ts";
import type { HandleStore } from "./handles/handle-store.ts";
import type { ClientEvent, ClientTelemetry } from "./client-events.ts";
import type { CallAndWaitOptions } from "./task-client.ts";
import type { OnInput, OnInputError } from "./question/ask-user.ts";
import type { TaskStore } from "../store/store.ts";
import {
  callback,
  choice,
  flag,
  isFunction,
  isObject,
  list,
  optionProblem,
  options,
  size,
  tableOf,
  text,
  time,
  value,
} from "../options/options.ts";

const isObjectOrText = (given: unknown): boolean => typeof given === "string" || isObject(given);

class DeclaredReceiveTasksOptions {
  /**
   * Where they are stored: `sqliteStore("client-tasks.db")` for questions that stay open after a restart of this process, or
   * `memoryStore()`. Concurrent connections can share a store. It closes with the last of them and cannot be opened again.
   */
  readonly store: TaskStore = value('a store, such as sqliteStore("client-tasks.db")', isObject, {
    required: true,
  });
  /**
   * The life of a task, from its creation; in SEP-1686, how long it is kept after its end. A server may ask for another
   * value of up to 30 days. Default: a question waits for its answer for up to a year, and is then kept for a day.
   */
  readonly ttlMs?: TimeSpan | null = time({ min: 0, orNull: true });
  /** The poll interval that the server is asked to keep. Default 1 second. */
  readonly pollIntervalMs?: TimeSpan = time({ min: 0, default: 1_000 });
  /** Whether to refuse questions that do not ask for a task, with -32600. Has no effect in SEP-1686. Default `false`. */
  readonly required?: boolean = flag({ default: false });
  /** Called with errors that reach no caller. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void = callback();
}

/** How the client accepts a server's questions as tasks of its own, in protocol 2025-11-25 and SEP-1686. */
export interface ReceiveTasksOptions extends DeclaredReceiveTasksOptions {}

export const receiveTasksOptions = tableOf<ReceiveTasksOptions>(DeclaredReceiveTasksOptions);

class DeclaredConnectOptions {
  /** Answers the server's questions, before a task exists and while one runs. */
  readonly onInput?: OnInput = callback();
  /** Called with questions that could not be answered. Decides what happens to their task. */
  readonly onInputError?: OnInputError = callback();
  /** Called with each event of the client, for logs and traces. Errors that it throws are ignored. */
  readonly onEvent?: (event: ClientEvent) => unknown = callback();
  /**
   * Called with each message of the protocol that is sent or received, to look at the wire. Messages contain the arguments and results of
   * calls. Errors that it throws are ignored.
   */
  readonly onMessage?: (message: JSONRPCMessage, direction: "sent" | "received") => unknown = callback();
  /**
   * Traces and measures this client: `openTelemetry()` of `holdfast/opentelemetry`. Each request becomes a span, whose context is sent in
   * its `_meta`. Default: none, at no cost.
   */
  readonly telemetry?: ClientTelemetry = value(
    "what openTelemetry() returns",
    (given) => isObject(given) && isObject((given as Partial<ClientTelemetry>).client),
  );
  /**
   * The capabilities to declare. Declare `sampling` or `roots` only if `onInput` answers them. Capabilities for tasks are always added.
   * Default: `{ elicitation: { form: {} } }` with `onInput`, none without.
   */
  readonly capabilities?: ClientCapabilities = value("an object", isObject);
  /**
   * Accepts the server's elicitation and sampling requests as durable tasks, in protocol 2025-11-25 and in SEP-1686, so that the user can
   * answer after the connection or this process was restarted. They go to `onInput` like all questions, if `capabilities` declare them. Has
   * no effect in other protocols.
   */
  readonly receiveTasks?: ReceiveTasksOptions = options(receiveTasksOptions);
  /**
   * Where calls and the answers to their questions are stored, from before a call is sent until its outcome is delivered, so that
   * `client.pending()` finds them after a crash of this process: `fileHandles(file)`, or just the path of the file, or `memoryHandles()`. It
   * contains the arguments of calls and gives access to their tasks: use one store per user. Default: nothing is stored.
   */
  readonly handles?: HandleStore | string = value(
    "a store of handles, such as fileHandles(file), or the path of a file",
    isObjectOrText,
  );
  /** The name and version that the client sends. Default: `holdfast` and its version. */
  readonly clientInfo?: Implementation = value("an object with name and version", isObject);
  /**
   * The only protocol version to speak; or `earlier`, for the latest before 2026-07-28 that the server supports. Both save the request that
   * asks for 2026-07-28. Default: 2026-07-28 if the server supports it, otherwise the latest that it supports.
   */
  readonly protocolVersion?: ProtocolVersion | "earlier" = choice([
    ...(protocolVersions as readonly ProtocolVersion[]),
    "earlier",
  ]);
  /** How long the server may take to answer the request that asks for 2026-07-28; then an earlier version is tried. Default 10 seconds. */
  readonly probeTimeoutMs?: TimeSpan = time({ min: 1, default: 10_000 });
  /**
   * Set it to use the tasks of the original proposal (SEP-1686) in protocol 2025-11-25 too. Before that version they are always used;
   * later versions are then not used. Servers need not declare them: one without tasks answers the call directly. Default: the tasks of
   * the protocol version.
   */
  readonly generation?: "sep-1686" = choice(askableGenerations as readonly "sep-1686"[]);
  /**
   * The server's name in task references. Set it if the default would change while the tasks stay, or if different servers would share
   * it. Default: its URL, with a hash of it in place of the values of its query; for a process, its command line, with URLs shown in the same
   * way; for a transport, `"transport"`.
   */
  readonly serverName?: string = text("a non-empty string", (name) => name !== "", {});
  /**
   * The parameters of the URL's query whose values may be stored and shown, such as `["region"]`. The values of all others are hidden in
   * references and errors, since they may be keys. Default: none.
   */
  readonly publicParameters?: readonly string[] = list("names of parameters", (name) => name !== "");
  /** Headers of every HTTP request. Have no effect on other connections. */
  readonly headers?: Readonly<Record<string, string>> = value("an object of headers", isObject, {
    secret: true, // a string by mistake may have a token in it
  });
  /**
   * A bearer token, or a function that returns one and is called before each HTTP request, and again when the server refuses it: if the
   * token is another one by then, the request is sent again with it.
   */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) = value(
    "a string, or a function that returns one",
    (given) => typeof given === "string" || isFunction(given),
    { secret: true },
  );
  /**
   * How to get access tokens by OAuth 2.1, instead of a `token`: a login store, such as `fileLogins(folder)`, with a login by `logIn` or
   * `holdfast login`; or an OAuth provider of the SDK, such as its `ClientCredentialsProvider`. If the server refuses a token, it is
   * renewed once for all requests, which are then sent again. Tokens go to the server's origin only.
   */
  readonly auth?: LoginStore | OAuthClientProvider = value(
    "a login store, such as fileLogins(folder), or an OAuth provider of the SDK",
    isObject,
    { secret: true }, // may be a token by mistake
  );
  /**
   * Which addresses the requests of `auth` may use, to read metadata and to get tokens. Servers name these addresses, so a program that
   * connects to servers of others, such as a hosted platform, sets `public`: only the public internet is reached, without proxies and without
   * `fetch`, and any other address rejects with `unauthorized`. The requests to the server itself are not limited. Default `any`.
   */
  readonly addresses?: "any" | "public" = choice(["any", "public"], { default: "any" });
  /**
   * Sends the HTTP requests. With the global `fetch` a call fails when its server sends nothing for 300 seconds. Default: Node's HTTP
   * client, without time limits.
   */
  readonly fetch?: FetchLike = callback();
  /**
   * How much the server may send in one message, and in one answer over HTTP, after decompression. More ends the request, or the connection
   * if it is a process or if the message belongs to no request, with `protocol`. Before the handshake has ended, the limit is 4 MiB in all.
   * Has no effect on a transport that you pass in. Default 256 MiB.
   */
  readonly maxAnswerBytes?: number = size({ min: 1, default: 256 * 1024 ** 2 });
  /** Aborts connecting, and ends a process that was started for it. No effect once connected. */
  readonly signal?: AbortSignal = value("an AbortSignal", isObject);
  /**
   * Whether to open a stream on which the server pushes the states of tasks. Polls are then the fallback: four intervals apart, at least 15
   * seconds and at most a minute. Default `true`.
   */
  readonly listen?: boolean = flag({ default: true });
  /**
   * How long a call may take in all, unless its own `timeoutMs` says otherwise; see there. `startTool` has ended once there is a task: the
   * waits of its handle have their own limits. Default: no limit.
   */
  readonly callTimeoutMs?: TimeSpan = time({ min: 0 });
  /**
   * How long a wait goes on while the server gives no valid answer, unless its own `unreachableTimeoutMs` says otherwise; then it rejects with
   * `connection`. Default: no limit.
   */
  readonly unreachableTimeoutMs?: TimeSpan = time({ min: 0 });
  /** The shortest poll interval, whatever the server asks for. Default 250 ms. */
  readonly pollFloorMs?: TimeSpan = time({ min: 0, fractions: true, default: 250 });
}

/** Options of `connect`. */
export interface ConnectOptions extends DeclaredConnectOptions {}

export const connectOptions = tableOf<ConnectOptions>(DeclaredConnectOptions);

/** Throws a RangeError for invalid options. */
export function assertConnectOptions(given: ConnectOptions): void {
  const problem = optionProblem("connect", given, connectOptions);
  if (problem !== undefined) throw new RangeError(problem);
  const { protocolVersion, generation, auth, token, headers = {} } = given;
  const hasHeader = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (auth !== undefined && (token !== undefined || hasHeader)) {
    throw new RangeError("auth cannot be combined with a token or an Authorization header.");
  }
  if (generation === undefined || protocolVersion === undefined || protocolVersion === "earlier") return;
  if (!isSpokenIn(generation, protocolVersion))
    throw new RangeError(`Protocol ${protocolVersion} has no tasks of ${generation}.`);
}

/** Of both kinds of calls. The compiler finds names that are missing. */
const callOptions: OptionNames<CallAndWaitOptions> = {
  signal: true,
  timeoutMs: true,
  pollIntervalMs: true,
  unreachableTimeoutMs: true,
  onTrouble: true,
  idempotencyKey: true,
  sentAt: true,
  ttlMs: true,
  deleteAfterFetch: true,
  onProgress: true,
  onUpdate: true,
  cancelOnAbort: true,
  onTask: true,
};

/** Throws a RangeError for a name that no option of calls has, such as one of the SDK's own client. */
export function assertCallOptions(what: string, given: object): void {
  const problem = namesProblem(what, given, Object.keys(callOptions));
  if (problem !== undefined) throw new RangeError(problem);
}
