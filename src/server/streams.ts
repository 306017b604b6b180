import type { RequestId } from "@modelcontextprotocol/server";
import type { ReserveMemory } from "../store/store.ts";

/**
 * Waits until there is memory for an answer of so many bytes. Call what it resolves with once the answer was passed on. Rejects with the
 * reason of the signal.
 */
export type ReserveAnswer = (bytes: number, signal: AbortSignal) => Promise<() => void>;

/**
 * What happened to an answer. `sent`: as far as the transport knows, the client has it. `kept`: its stream broke, and the client may resume
 * it. `lost`: it could not be sent, or the request was cancelled.
 */
export type AnswerEnd = "sent" | "kept" | "lost";

/** The memory for the answer to one request, which is reserved once, and released by what `afterAnswer` gets. Undefined: nothing counts it. */
export function memoryFor(
  request: { readonly signal: AbortSignal },
  reserve: ReserveAnswer | undefined,
  afterAnswer: (release: () => void) => void,
): ReserveMemory | undefined {
  let reserved: Promise<void> | undefined;
  const keep = (release: () => void): void => {
    if (!request.signal.aborted) return afterAnswer(release);
    release(); // there is no answer that it could be released after
    request.signal.throwIfAborted();
  };
  return reserve && ((bytes) => (reserved ??= reserve(bytes, request.signal).then(keep)));
}

/**
 * The streams of a connection: where a message can reach the client now. On Streamable HTTP each request has its own stream for its answer,
 * and the client may open one more for everything else (GET). Only needed before 2026-07-28, where the server sends requests.
 */
export interface Streams {
  /** A name of the session for records, if there is one: its id is only for its client. */
  readonly sessionKey: string | undefined;
  /** Left out if nothing counts what waits for the client. */
  readonly reserve?: ReserveAnswer | undefined;
  /** Eight letters or digits that distinguish the processes that serve the session; left out if only one does. */
  readonly processName?: string | undefined;
  /** Whether there is a stream for messages that belong to no request. */
  readonly standaloneOpen: boolean;
  /** The scopes with which that was opened; undefined: everything may be sent on it. */
  readonly standaloneScopes?: readonly string[] | undefined;
  /** Whether `request` is answered without a stream, so that nothing about it can be sent but its answer. Left out if none is. */
  answersOnly?(request: RequestId): boolean;
  /** Whether the connection began with `initialize`; without sessions, each request has a connection of its own. */
  readonly initialized: boolean;
  /** Called with true when a standalone stream opens and with false when it breaks; returns a function that removes it. */
  onStandalone(listener: (open: boolean) => void): () => void;
  /** Called with the id of a request whose stream broke before its answer was sent; returns a function that removes it. */
  onBroken(listener: (request: RequestId) => void): () => void;
  /**
   * Called with the id of a request whose stream broke and was not resumed in time; returns a function that removes it.
   */
  onLost(listener: (request: RequestId) => void): () => void;
  /**
   * The client's reply to `question`, a request of ours, is acknowledged when `kept` resolves. Left out on transports that
   * acknowledge nothing.
   */
  acknowledgeAfter?(question: RequestId, kept: Promise<void>): void;
  /** Resolves when what the client has done in other processes is known here. Left out if only one process serves it. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  /** `request` is answered by the task of another request. Left out on transports that cannot be resumed. */
  joined?(request: RequestId, task: string): void;
  /** From now on, resuming a stream, and cancelling `request`, needs these scopes. Left out on transports without scopes. */
  needs?(scopes: readonly string[], request?: RequestId): void;
  /** The client's reply to `question` needs these scopes. Left out on transports without scopes. */
  replyNeeds?(question: RequestId, scopes: readonly string[]): void;
}

const nothing = (): void => undefined;

const noEvents = { onStandalone: () => nothing, onBroken: () => nothing, onLost: () => nothing };

/** One pipe for everything, as on stdio: messages arrive until the connection ends. */
export const onePipe: Streams = {
  sessionKey: undefined,
  standaloneOpen: true,
  initialized: true,
  ...noEvents,
};

/** A request without a session, which has no stream but its own. */
export const noSession: Streams = {
  sessionKey: undefined,
  standaloneOpen: false,
  initialized: false,
  ...noEvents,
};

/** Why a question of a request that is answered without a stream cannot be sent. */
export const cannotBeAsked =
  "The client cannot be asked: its call is answered as JSON, and it has no other stream open.";

const replayPrefix = "holdfast-replay-";

/** The request id used to replay to a server what the client of a session has set in another process. */
export function replayId(number: number): string {
  return `${replayPrefix}${number}`;
}

export function isReplay(id: RequestId | undefined): boolean {
  return typeof id === "string" && id.startsWith(replayPrefix);
}
