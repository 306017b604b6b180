import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest, SdkHttpError } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import { errorInBody } from "../reply/json-rpc-error.ts";
import type { Reply } from "../reply/reply.ts";
import { retryDelay } from "../task/pacing.ts";
import { sendFailure } from "./send-failure.ts";

/** Sends the first message of a session, and the one that ends its beginning. */
export interface Handshake {
  readonly clock: ClientClock;
  /** The id of the session that messages are sent in now, if the server gave one. */
  readonly sessionId: () => string | undefined;
  /** Aborts when the connection is over, and nothing can be renewed. */
  readonly over: AbortSignal;
  initialize(params: JsonObject): Promise<Reply<JsonObject>>;
  initialized(): Promise<void>;
}

/** What some servers answer to a session that they do not know, in place of HTTP 404. */
const badRequestCode = -32000;
const methodNotFoundCode = -32601;
/** A session that lived this long was not lost because of how it began. */
const steadyMs = 10_000;

/** Whether the server says that it does not know the session (any more), and so has not looked at the message. */
function isSessionGone(failure: unknown): boolean {
  if (!(failure instanceof SdkHttpError)) return false;
  const { status, text } = failure.data;
  const code = errorInBody(text)?.code;
  return (status === 404 && code !== methodNotFoundCode) || (status === 400 && code === badRequestCode);
}

/**
 * Begins a new session when the server has lost the old one, with the handshake that began the first: sessions end
 * with their server, tasks do not. A session counts as lost only if a message under its id is refused after another
 * was accepted: a 404 may as well mean that the server has no such route. Without a handshake, as in protocol
 * 2026-07-28, there is nothing to renew.
 */
export class SessionRenewal {
  readonly #handshake: Handshake;
  #initialize: JsonObject | undefined;
  #renewing: Promise<Reply<JsonObject>> | undefined;
  #count = 0;
  /** The id of the newest session in which the server accepted a message. */
  #acceptedIn: string | undefined;
  /** Handshakes in a row whose session was lost soon. */
  #shortLived = 0;
  #renewedAt = -Infinity;

  constructor(handshake: Handshake) {
    this.#handshake = handshake;
  }

  /** The number of sessions so far; a message belongs to the one that it was sent in. */
  get session(): number {
    return this.#count;
  }

  /** Whether there was a handshake that can be repeated. */
  get canRenew(): boolean {
    return this.#initialize !== undefined;
  }

  /** Takes note of what the SDK's client sends. */
  note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method === "initialize") this.#initialize = message.params ?? {};
  }

  /** The server accepted a message that was sent under this session id. */
  accepted(sessionId: string | undefined): void {
    this.#acceptedIn = sessionId;
  }

  /** Whether the failure means that the session is lost, so that it has to be renewed. */
  #isLoss(failure: unknown, lost: number): boolean {
    if (!this.canRenew || !isSessionGone(failure) || this.#handshake.over.aborted) return false;
    if (this.#count > lost) return true;
    const id = this.#handshake.sessionId();
    return id !== undefined && id === this.#acceptedIn;
  }

  /**
   * Resolves with a value once there is a later session than `lost`, if that is what the failure asks for; undefined if
   * it is not. Several at once are one handshake.
   */
  async after(failure: unknown, lost: number): Promise<Reply<JsonObject> | undefined> {
    if (!this.#isLoss(failure, lost)) return undefined;
    try {
      return await this.#renew(lost);
    } catch (cause) {
      return sendFailure(cause);
    }
  }

  async #renew(lost: number): Promise<Reply<JsonObject>> {
    if (this.#count > lost) return { kind: "value", value: {} };
    this.#renewing ??= this.#begin().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #begin(): Promise<Reply<JsonObject>> {
    const { clock, over } = this.#handshake;
    this.#shortLived = clock.elapsed() - this.#renewedAt >= steadyMs ? 0 : this.#shortLived + 1;
    if (this.#shortLived > 0) await clock.sleep(retryDelay(this.#shortLived, clock.random()), over);
    this.#renewedAt = clock.elapsed();
    const reply = await this.#handshake.initialize(this.#initialize ?? {});
    if (reply.kind !== "value") return reply;
    this.#count += 1;
    await this.#handshake.initialized();
    return reply;
  }
}
