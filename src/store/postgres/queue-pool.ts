import { Pool, type PoolClient, type PoolConfig } from "pg";
import { messageOf } from "./postgres-error.ts";

/** One to listen, and one for each thing that the queue does at the same time. */
const connections = 3;
const timeoutMs = 5_000;

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: () => void) => void;

/**
 * If the connection on which the library listens breaks during a stop, the library releases it twice. The second release would be an
 * unhandled rejection, and end the process.
 */
function once(release: () => void): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
}

/** Connections for the queue's library, shared with nothing else. */
export class QueuePool extends Pool {
  constructor(config: PoolConfig) {
    super({
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
      ...config,
      max: connections,
      allowExitOnIdle: true,
    });
    // A broken connection is replaced; a user of it gets the error anyway.
    this.on("error", () => undefined);
    this.on("connect", (client) => client.on("error", () => undefined));
  }

  override connect(): Promise<PoolClient>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<PoolClient> | void {
    if (connected === undefined) return this.#connect();
    super.connect((error, client, release) => connected(error, client, once(release)));
  }

  /** Hides error codes: with some, the library would wait for minutes, and could not be stopped. */
  async #connect(): Promise<PoolClient> {
    try {
      return await super.connect();
    } catch (error) {
      throw new Error(messageOf(error), { cause: error });
    }
  }
}
