import type { RequestId } from "@modelcontextprotocol/server";

/**
 * What the host of a connection knows of its streams and the messages on it do not tell: where a message can reach
 * the client now. On Streamable HTTP each request has a stream of its own for its answer, and the client may hold
 * one more open for everything else (GET). Only earlier revisions than 2026-07-28 need it: there the server asks.
 */
export interface Streams {
  /** The session, where there is one. */
  readonly sessionId: string | undefined;
  /** Whether a message that belongs to no request reaches the client now. */
  readonly standaloneOpen: boolean;
  /** The scopes that this was opened with; undefined where nothing is held back from it. */
  readonly standaloneScopes?: readonly string[] | undefined;
  /** Whether the client said who it is on this connection; without sessions every request comes alone. */
  readonly initialized: boolean;
  /** Called with true when a standalone stream opens and with false when it breaks; returns the way to stop it. */
  onStandalone(listener: (open: boolean) => void): () => void;
  /** Called with the id of a request whose stream broke before its answer was sent; returns the way to stop it. */
  onBroken(listener: (request: RequestId) => void): () => void;
  /**
   * Called with the id of a request whose stream broke and whose client did not come back for the answer in time; returns
   * the way to stop it.
   */
  onLost(listener: (request: RequestId) => void): () => void;
  /**
   * The client's reply to `question`, a request of ours, is not acknowledged before `kept` resolves. Where a host
   * acknowledges nothing, it is not there.
   */
  acknowledgeAfter?(question: RequestId, kept: Promise<void>): void;
  /** The client's reply to `question` needs these scopes. Where there is no telling who replies, it is not there. */
  replyNeeds?(question: RequestId, scopes: readonly string[]): void;
}

const nothing = (): void => undefined;

/** One pipe for everything, as on stdio: what is sent arrives, until the connection ends. */
export const onePipe: Streams = {
  sessionId: undefined,
  standaloneOpen: true,
  initialized: true,
  onStandalone: () => nothing,
  onBroken: () => nothing,
  onLost: () => nothing,
};

/** A request that comes alone: no session before it and none after it, and no stream but its own. */
export const noSession: Streams = {
  sessionId: undefined,
  standaloneOpen: false,
  initialized: false,
  onStandalone: () => nothing,
  onBroken: () => nothing,
  onLost: () => nothing,
};
