import { Pool, type PoolClient, type PoolConfig } from "pg";
import { messageOf } from "./postgres-error.ts";

/** One to listen, and one each for what the queue does at the same time. */
const connections = 3;
const timeoutMs = 5_000;

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: () => void) => void;

/** The library releases the connection that it listens on twice where that breaks during a stop: the second time would reject to nobody, and end the process. */
function once(release: () => void): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
}

/** Connections for the queue's library, which shares none with others. */
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
    // What breaks is replaced; whoever uses it hears of it by itself.
    this.on("error", () => undefined);
    this.on("connect", (client) => client.on("error", () => undefined));
  }

  override connect(): Promise<PoolClient>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<PoolClient> | void {
    if (connected === undefined) return this.#connect();
    super.connect((error, client, release) => connected(error, client, once(release)));
  }

  /** By their codes the library would wait for minutes with some errors, and nobody could stop it. */
  async #connect(): Promise<PoolClient> {
    try {
      return await super.connect();
    } catch (error) {
      throw new Error(messageOf(error), { cause: error });
    }
  }
}
