import {
  type JSONRPCMessage,
  type RequestId,
  isJSONRPCRequest,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import { errorInBody, type Reply } from "../reply/reply.ts";
import { retryDelay } from "../task/poll-limits.ts";
import { sendFailure } from "./send-failure.ts";

/** A session at the server, and the contents of its handshake. */
export interface OpenSession {
  readonly id: string;
  readonly origin: string;
  readonly params: JsonObject;
  readonly result: JsonObject;
}

/** What a renewal needs of its connection. */
export interface Handshake {
  readonly clock: ClientClock;
  /** Where the server is; undefined if not over HTTP. */
  readonly origin: string | undefined;
  /** The id of the current session, if the server gave one. */
  readonly sessionId: () => string | undefined;
  /** Aborts when the connection has ended. */
  readonly closed: AbortSignal;
  initialize(params: JsonObject): Promise<Reply<JsonObject>>;
  initialized(): Promise<void>;
}

/** Some servers answer an unknown session with this code instead of HTTP 404. */
const badRequestCode = -32000;
const methodNotFoundCode = -32601;
/** A session that lasted this long does not count towards the backoff. */
const steadyMs = 10_000;

/** Whether the server refused the message because it does not know the session. */
function isSessionGone(failure: unknown): boolean {
  if (!(failure instanceof SdkHttpError)) return false;
  const { status, text } = failure.data;
  const code = errorInBody(text)?.code;
  return (status === 404 && code !== methodNotFoundCode) || (status === 400 && code === badRequestCode);
}

/**
 * Begins a new session when the server has lost the old one, by repeating the first handshake: a restart of the
 * server ends its sessions, but not its tasks. A session counts as lost only if the server refuses a message under
 * its id after it had accepted one: a 404 can also mean that there is no such route. Does nothing without a
 * handshake, as in protocol 2026-07-28.
 */
export class SessionRenewal {
  readonly #handshake: Handshake;
  #initialize: { readonly id: RequestId; readonly params: JsonObject } | undefined;
  /** The server's answer to the latest handshake. */
  #result: JsonObject | undefined;
  #renewing: Promise<Reply<JsonObject>> | undefined;
  #count = 0;
  /** The id of the newest session in which the server accepted a message. */
  #acceptedIn: string | undefined;
  /** How many sessions in a row were lost soon after their handshake. */
  #shortLived = 0;
  #renewedAt = -Infinity;

  constructor(handshake: Handshake) {
    this.#handshake = handshake;
  }

  /** The number of renewals so far. */
  get session(): number {
    return this.#count;
  }

  /** Whether there was a handshake to repeat. */
  get canRenew(): boolean {
    return this.#initialize !== undefined;
  }

  /** The current session, once its handshake was answered. */
  get openSession(): OpenSession | undefined {
    const { origin } = this.#handshake;
    const id = this.#handshake.sessionId();
    const params = this.#initialize?.params;
    const result = this.#result;
    if (id === undefined || origin === undefined || params === undefined || result === undefined)
      return undefined;
    return { id, origin, params, result };
  }

  /** Remembers the handshake of the SDK's client. */
  observe(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method === "initialize")
      this.#initialize = { id: message.id, params: message.params ?? {} };
  }

  /** Remembers the answer to it. */
  received(message: JSONRPCMessage): void {
    if ("result" in message && message.id === this.#initialize?.id) this.#result = message.result;
  }

  /** The server accepted a message that was sent under this session id. */
  accepted(sessionId: string | undefined): void {
    this.#acceptedIn = sessionId;
  }

  /** Whether the failure means that the session is lost. */
  #isLoss(failure: unknown, lostSession: number): boolean {
    if (!this.canRenew || !isSessionGone(failure) || this.#handshake.closed.aborted) return false;
    if (this.#count > lostSession) return true;
    const id = this.#handshake.sessionId();
    return id !== undefined && id === this.#acceptedIn;
  }

  /**
   * Resolves with a value once there is a later session than `lostSession`, or with undefined if the failure has
   * another cause. Concurrent calls share one handshake.
   */
  async renewAfter(failure: unknown, lostSession: number): Promise<Reply<JsonObject> | undefined> {
    if (!this.#isLoss(failure, lostSession)) return undefined;
    try {
      return await this.#renew(lostSession);
    } catch (cause) {
      return sendFailure(cause);
    }
  }

  async #renew(lostSession: number): Promise<Reply<JsonObject>> {
    if (this.#count > lostSession) return { kind: "value", value: {} };
    this.#renewing ??= this.#begin().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #begin(): Promise<Reply<JsonObject>> {
    const { clock, closed } = this.#handshake;
    this.#shortLived = clock.elapsed() - this.#renewedAt >= steadyMs ? 0 : this.#shortLived + 1;
    if (this.#shortLived > 0) await clock.sleep(retryDelay(this.#shortLived, clock.random()), closed);
    this.#renewedAt = clock.elapsed();
    const reply = await this.#handshake.initialize(this.#initialize?.params ?? {});
    if (reply.kind !== "value") return reply;
    this.#result = reply.value;
    this.#count += 1;
    await this.#handshake.initialized();
    return reply;
  }
}
