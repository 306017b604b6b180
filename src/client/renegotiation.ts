import { SdkHttpError } from "@modelcontextprotocol/client";
import { isJsonObject } from "../generation/message.ts";
import type { TaskClient } from "./task-client.ts";
import { TaskClientError } from "./task-client-error.ts";
import { unlessAborted } from "./background-work.ts";

/** Connects again, until the signal aborts. */
export type Reconnect = (signal: AbortSignal) => Promise<TaskClient>;

/**
 * A deploy or a rollback can replace a server by one that speaks another revision, under a client that stays connected. A call that such a
 * server refuses is sent again by a second client, which negotiates anew, and so are those after it, until they are refused as well. A call
 * is sent again only if the revision did change: then the refusal came from a server that does not know the first one.
 */
export class Renegotiation {
  readonly #first: TaskClient;
  readonly #connect: Reconnect | undefined;
  #current: TaskClient;
  #renewing: Promise<TaskClient | undefined> | undefined;
  readonly #closing = new AbortController();

  /** `connect` is left out if the caller or the transport allows one revision only. */
  constructor(first: TaskClient, connect: Reconnect | undefined) {
    this.#first = first;
    this.#connect = connect;
    this.#current = first;
  }

  /** The client that the server last accepted. */
  get current(): TaskClient {
    return this.#current;
  }

  /** `signal`: of whoever makes the call. */
  async with<Result>(
    call: (client: TaskClient) => Promise<Result>,
    signal: AbortSignal = this.#closing.signal,
  ): Promise<Result> {
    const client = this.#current;
    try {
      return await call(client);
    } catch (error) {
      const next = isRefusal(error) ? await unlessAborted(this.#after(client), signal) : undefined;
      if (next === undefined) throw error;
      return call(next);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new TaskClientError("closed", "The client was closed"));
    await this.#renewing;
    if (this.#current !== this.#first) await this.#current.close();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The client to use after this one was refused; undefined if the server speaks the same revision as before, or cannot be reached. */
  async #after(refused: TaskClient): Promise<TaskClient | undefined> {
    if (this.#current !== refused) return this.#current;
    if (this.#connect === undefined || this.#isClosed) return undefined;
    this.#renewing ??= this.#renew(this.#connect).finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renew(connect: Reconnect): Promise<TaskClient | undefined> {
    const before = this.#current;
    const next = await connect(this.#closing.signal).catch(() => undefined);
    if (next === undefined) return undefined;
    const version = versionOf(next);
    const isSame = version === versionOf(before);
    if (isSame || this.#isClosed || version === versionOf(this.#first)) await next.close();
    if (isSame || this.#isClosed) return undefined;
    this.#current = version === versionOf(this.#first) ? this.#first : next;
    if (before !== this.#first) await before.close();
    return this.#current;
  }
}

function versionOf({ sdk }: TaskClient): string | undefined {
  return sdk.getNegotiatedProtocolVersion();
}

/** What servers answer to a revision that they do not speak: a session is missing, or a method, or the version is unsupported. */
const refusals: ReadonlySet<number> = new Set([-32000, -32001, -32004, -32022, -32600, -32601]);

function isRefusal(error: unknown): boolean {
  if (!(error instanceof TaskClientError) || error.reference !== undefined) return false;
  // A server that says when to come back is busy: it would only get more to do.
  if (isJsonObject(error.error?.data) && "retryAfterMs" in error.error.data) return false;
  if (error.code === "rpc") return refusals.has(error.error?.code ?? 0);
  const { cause } = error;
  return cause instanceof SdkHttpError && [400, 404, 405].includes(cause.data.status);
}
