import type { ClientCapabilities, FetchLike, Implementation } from "@modelcontextprotocol/client";
import type { ReceiveTasksOptions } from "./receive-options.ts";
import type { HandleStore } from "./handles/handle-store.ts";
import type { ClientEvent } from "./events/client-event.ts";
import type { OnInput, OnInputError } from "./question/input-request.ts";

/** The protocol versions that this client speaks. Tasks are in the first two; in the others, those of SEP-1686. */
export const protocolVersions = [
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
] as const;

export type ProtocolVersion = (typeof protocolVersions)[number];

/** Options of `connect`. */
export interface ConnectOptions {
  /** Answers the server's questions, before a task exists and while one runs. */
  readonly onInput?: OnInput;
  /** Told of questions that could not be answered, and decides about their task. */
  readonly onInputError?: OnInputError;
  /** Told of what the client does, for logs and traces. What it throws disturbs nothing. */
  readonly onEvent?: (event: ClientEvent) => unknown;
  /**
   * The capabilities to declare, in place of the default: `{ elicitation: { form: {} } }` with `onInput`, and none
   * without. Declare `sampling` or `roots` only if `onInput` answers them. What tasks need is always added.
   */
  readonly capabilities?: ClientCapabilities;
  /**
   * Takes the server's elicitations and samplings as durable tasks where it asks for that, in protocol 2025-11-25 and
   * in SEP-1686: the user may answer when the connection, or this process, is long another. They come to `onInput` like all others, as
   * far as `capabilities` declare them. Elsewhere without effect.
   */
  readonly receiveTasks?: ReceiveTasksOptions;
  /**
   * Keeps every call from before it is sent until somebody was told its end, and the answers to its questions, so that
   * `client.pending()` finds after a crash of this process what it left: `fileHandles(folder)`, for which the folder's
   * path is enough, or `memoryHandles()`. What is in it is a key to tasks, and holds the arguments of calls. Give each
   * user that this client calls for a store of their own. Default: nothing is kept.
   */
  readonly handles?: HandleStore | string;
  /** How this client names itself to the server. Default: holdfast, and its version. */
  readonly clientInfo?: Implementation;
  /**
   * The one protocol version to speak. Default: 2026-07-28 where the server has it, else the latest that it has. Name
   * an earlier one for a server that the question about 2026-07-28 disturbs, or to save that round trip.
   */
  readonly protocolVersion?: ProtocolVersion;
  /**
   * `"sep-1686"` asks for tasks in the form of the original proposal, with servers that have them in protocol 2025-11-25.
   * Before that version it is always so; later ones are then not spoken. A server need not say that it has such tasks:
   * one that has none answers a call as any other. Default: the tasks of the version that is spoken.
   */
  readonly generation?: "sep-1686";
  /**
   * How task references name the server. Default: its URL; for a process, its command line; for a transport,
   * `"transport"`. Give one where that changes while the tasks stay, or is the same for servers that are not.
   */
  readonly serverName?: string;
  /** Sent with every HTTP request; of no effect on other connections. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A bearer token, or what gives one; asked before each HTTP request. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Sends the HTTP requests, in place of the global one. */
  readonly fetch?: FetchLike;
  /** Gives up connecting, and ends a process that was started for it. Of no effect once connected. */
  readonly signal?: AbortSignal;
  /**
   * Whether to listen to tasks where the server pushes their states, on one stream for all that is waited for. Polls
   * are then the safety net: four intervals apart, at least 15 seconds and at most a minute. Default true.
   */
  readonly listen?: boolean;
  /** Milliseconds between polls that no server can talk this client below. Default 250. */
  readonly pollFloorMs?: number;
}
