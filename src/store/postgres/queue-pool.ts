import { Pool, type PoolClient, type PoolConfig } from "pg";
import { messageOf } from "./postgres-error.ts";

/** One to listen, and one each for what the queue does at the same time. */
const connections = 3;
const timeoutMs = 5_000;

type Connected = (error: Error | undefined, client: PoolClient | undefined, release: () => void) => void;

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
    return connected === undefined ? this.#connect() : super.connect(connected);
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
