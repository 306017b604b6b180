import type {
  ClientCapabilities,
  FetchLike,
  Implementation,
  OAuthClientProvider,
} from "@modelcontextprotocol/client";
import {
  askableGenerations,
  isSpokenIn,
  protocolVersions,
  type ProtocolVersion,
} from "../generation/generations.ts";
import type { LoginStore } from "./auth/login.ts";
import type { HandleStore } from "./handles/handle-store.ts";
import type { ClientEvent } from "./client-events.ts";
import type { ClientTelemetry } from "./client-telemetry.ts";
import type { OnInput, OnInputError } from "./question/input-request.ts";
import type { TaskStore } from "../store/store.ts";
import { optionProblem, type OptionNames } from "../task/option-names.ts";

/** Options of `connect`. */
export interface ConnectOptions {
  /** Answers the server's questions, before a task exists and while one runs. */
  readonly onInput?: OnInput;
  /** Called with questions that could not be answered. Decides what happens to their task. */
  readonly onInputError?: OnInputError;
  /** Called with each event of the client, for logs and traces. Errors that it throws are ignored. */
  readonly onEvent?: (event: ClientEvent) => unknown;
  /**
   * Traces and measures this client: `openTelemetry()` of `holdfast/opentelemetry`. Each request becomes a span, whose context is sent in
   * its `_meta`. Default: none, at no cost.
   */
  readonly telemetry?: ClientTelemetry;
  /**
   * The capabilities to declare. Default: `{ elicitation: { form: {} } }` with `onInput`, none without. Declare `sampling`
   * or `roots` only if `onInput` answers them. Capabilities for tasks are always added.
   */
  readonly capabilities?: ClientCapabilities;
  /**
   * Accepts the server's elicitation and sampling requests as durable tasks, in protocol 2025-11-25 and in SEP-1686, so that the user can
   * answer after the connection or this process was restarted. They go to `onInput` like all questions, if `capabilities` declare them. Has
   * no effect in other protocols.
   */
  readonly receiveTasks?: ReceiveTasksOptions;
  /**
   * Where calls and the answers to their questions are stored, from before a call is sent until its outcome is delivered, so that
   * `client.pending()` finds them after a crash of this process: `fileHandles(folder)`, or just the folder's path, or `memoryHandles()`. It
   * contains the arguments of calls and gives access to their tasks: use one store per user. Default: nothing is stored.
   */
  readonly handles?: HandleStore | string;
  /** The name and version that the client sends. Default: holdfast and its version. */
  readonly clientInfo?: Implementation;
  /**
   * The only protocol version to speak. Default: 2026-07-28 if the server supports it, otherwise the latest that it supports.
   * Name an earlier one to save the round trip that asks for 2026-07-28, or for servers that fail on it.
   */
  readonly protocolVersion?: ProtocolVersion;
  /**
   * `"sep-1686"` uses the tasks of the original proposal in protocol 2025-11-25 too. Before that version they are always used; later
   * versions are then not used. Servers need not declare them: one without tasks answers the call directly. Default: the tasks of the
   * protocol version.
   */
  readonly generation?: "sep-1686";
  /**
   * The server's name in task references. Default: its URL; for a process, its command line; for a transport,
   * `"transport"`. Set it if that changes while the tasks stay, or if different servers would share it.
   */
  readonly serverName?: string;
  /** Headers of every HTTP request. Have no effect on other connections. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A bearer token, or a function that returns one and is called before each HTTP request. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  /**
   * How to get access tokens by OAuth 2.1, instead of a `token`: a login store, such as `fileLogins(folder)`, with a login by `logIn` or
   * `holdfast login`; or an OAuth provider of the SDK, such as its `ClientCredentialsProvider`. If the server refuses a token, it is
   * renewed once for all requests, which are then sent again. Tokens go to the server's origin only.
   */
  readonly auth?: LoginStore | OAuthClientProvider;
  /**
   * Sends the HTTP requests. Default: Node's HTTP client, without time limits. With the global `fetch` a call fails when
   * its server sends nothing for 300 seconds.
   */
  readonly fetch?: FetchLike;
  /** Aborts connecting, and ends a process that was started for it. No effect once connected. */
  readonly signal?: AbortSignal;
  /**
   * Whether to open a stream on which the server pushes the states of tasks. Polls are then the fallback: four intervals apart, at least 15
   * seconds and at most a minute. Default true.
   */
  readonly listen?: boolean;
  /** The shortest poll interval in milliseconds, whatever the server asks for. Default 250. */
  readonly pollFloorMs?: number;
}

/** How the client accepts a server's questions as tasks of its own, in protocol 2025-11-25 and SEP-1686. */
export interface ReceiveTasksOptions {
  /**
   * Where they are stored: `sqliteStore("client-tasks.db")` for questions that stay open after a restart of this process, or
   * `memoryStore()`. Concurrent connections can share a store. It closes with the last of them and cannot be opened again.
   */
  readonly store: TaskStore;
  /**
   * The life of a task, in milliseconds from its creation; in SEP-1686, how long it is kept after its end. A server may ask for another
   * value of up to 30 days. Default: a question waits for its answer for up to a year, and is then kept for a day.
   */
  readonly ttlMs?: number | null;
  /** The poll interval that the server is told to keep, in milliseconds. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Whether to refuse questions that do not ask for a task, with -32600. Has no effect in SEP-1686. Default false. */
  readonly required?: boolean;
  /** Called with errors that reach no caller. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
}

const connectOptions: OptionNames<ConnectOptions> = {
  onInput: true,
  onInputError: true,
  onEvent: true,
  telemetry: true,
  capabilities: true,
  receiveTasks: true,
  handles: true,
  clientInfo: true,
  protocolVersion: true,
  generation: true,
  serverName: true,
  headers: true,
  token: true,
  auth: true,
  fetch: true,
  signal: true,
  listen: true,
  pollFloorMs: true,
};

/** Throws a RangeError for invalid options. */
export function assertConnectOptions(options: ConnectOptions): void {
  const problem = optionProblem("connect", options, connectOptions);
  if (problem !== undefined) throw new RangeError(problem);
  const { pollFloorMs = 0, protocolVersion, generation, auth, token, headers = {} } = options;
  const hasHeader = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (auth !== undefined && (token !== undefined || hasHeader)) {
    throw new RangeError("auth cannot be combined with a token, or with a header Authorization.");
  }
  if (!Number.isFinite(pollFloorMs) || pollFloorMs < 0) {
    throw new RangeError(`pollFloorMs has to be a number of at least 0, not ${pollFloorMs}.`);
  }
  if (protocolVersion !== undefined && !protocolVersions.includes(protocolVersion)) {
    const known = protocolVersions.join(", ");
    throw new RangeError(`protocolVersion has to be one of ${known}, not ${String(protocolVersion)}.`);
  }
  if (generation === undefined) return;
  if (!askableGenerations.includes(generation)) {
    const known = askableGenerations.map((name) => JSON.stringify(name)).join(" or ");
    throw new RangeError(`generation has to be ${known}, not ${JSON.stringify(generation)}.`);
  }
  if (protocolVersion !== undefined && !isSpokenIn(generation, protocolVersion)) {
    throw new RangeError(`Protocol ${protocolVersion} has no tasks of ${generation}.`);
  }
}
