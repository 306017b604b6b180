import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJSONRPCRequest, SdkHttpError } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/json-object.ts";
import { errorInBody } from "../reply/json-rpc-error.ts";
import type { Reply } from "../reply/reply.ts";
import { sendFailure } from "./send-failure.ts";

/** Sends the first message of a session, and the one that ends its beginning. */
export interface Handshake {
  /** Aborts when the connection is over, and nothing can be renewed. */
  readonly over: AbortSignal;
  initialize(params: JsonObject): Promise<Reply<JsonObject>>;
  initialized(): Promise<void>;
}

/** What some servers answer to a session that they do not know, in place of HTTP 404. */
const badRequestCode = -32000;

/** Whether the server says that it does not know the session (any more), and so has not looked at the message. */
export function isSessionGone(failure: unknown): boolean {
  if (!(failure instanceof SdkHttpError)) return false;
  const { status, text } = failure.data;
  return status === 404 || (status === 400 && errorInBody(text)?.code === badRequestCode);
}

/**
 * Begins a new session when the server has lost the old one, with the handshake that began the first: sessions end
 * with their server, tasks do not. Without a handshake, as in protocol 2026-07-28, there is nothing to renew.
 */
export class SessionRenewal {
  readonly #handshake: Handshake;
  #initialize: JsonObject | undefined;
  #renewing: Promise<Reply<JsonObject>> | undefined;
  #count = 0;

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

  /**
   * Resolves with a value once there is a later session than `lost`, if that is what the failure asks for; undefined if
   * it is not. Several at once are one handshake.
   */
  async after(failure: unknown, lost: number): Promise<Reply<JsonObject> | undefined> {
    if (!this.canRenew || !isSessionGone(failure) || this.#handshake.over.aborted) return undefined;
    try {
      return await this.#renew(lost);
    } catch (cause) {
      return sendFailure(cause);
    }
  }

  /** Begins a new session for nobody in particular: if that fails, the next request finds out. */
  begin(): void {
    if (!this.canRenew || this.#handshake.over.aborted) return;
    this.#renew(this.#count).catch(() => undefined);
  }

  async #renew(lost: number): Promise<Reply<JsonObject>> {
    if (this.#count > lost) return { kind: "value", value: {} };
    this.#renewing ??= this.#begin().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #begin(): Promise<Reply<JsonObject>> {
    const reply = await this.#handshake.initialize(this.#initialize ?? {});
    if (reply.kind !== "value") return reply;
    this.#count += 1;
    await this.#handshake.initialized();
    return reply;
  }
}
