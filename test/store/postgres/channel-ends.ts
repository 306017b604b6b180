import { once } from "node:events";
import { Client, Pool } from "pg";
import { ChangeChannel, type ChannelSetup } from "../../../src/store/postgres/change-channel.ts";
import type { News } from "../../../src/store/postgres/news.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { namesIn } from "../../../src/store/postgres/names.ts";
import type { FreshSchema } from "../../postgres/test-database.ts";

/** So long that no test sees a poll which it does not ask for. */
const neverMs = 10_000_000;

/** What one of several owners hears of the others, in order. */
export class ChannelEnd {
  readonly channel: ChangeChannel;
  readonly heard: unknown[] = [];
  readonly clients: Client[] = [];
  readonly #pool: Pool;
  readonly #arrivals = new EventTarget();

  constructor({ url, schema }: FreshSchema, owner: string, changed: Partial<ChannelSetup> = {}) {
    this.#pool = new Pool({ connectionString: url, max: 2 });
    this.channel = new ChangeChannel({
      names: namesIn(schema),
      owner,
      connect: () => this.connect(url),
      database: new Database(this.#pool, 10_000),
      pollIntervalMs: neverMs,
      listener: {
        tasks: (changes) => this.hear(changes === "gap" ? "gap" : { tasks: changes }),
        sessions: (sessions) => sessions !== "gap" && this.hear({ sessions }),
        messages: () => this.hear("messages"),
        work: (tasks) => this.hear(tasks === undefined ? "work" : { work: tasks }),
        heard: (from, worker) => worker !== undefined && worker !== "gap" && this.hear({ from, worker }),
      },
      ...changed,
    });
  }

  async connect(url: string): Promise<Client> {
    const client = new Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    this.clients.push(client);
    return client;
  }

  hear(news: unknown): void {
    this.heard.push(news);
    this.#arrivals.dispatchEvent(new Event("heard"));
  }

  /** Resolves with what it has heard once that is enough, and forgets it. */
  async until(isEnough: (heard: readonly unknown[]) => boolean): Promise<readonly unknown[]> {
    while (!isEnough(this.heard)) await once(this.#arrivals, "heard");
    return this.heard.splice(0);
  }

  /** The gap of a new connection is over. */
  async listens(): Promise<void> {
    await this.until((heard) => heard.at(-1) === "work" && heard.includes("gap"));
  }

  tell(news: News): void {
    this.channel.send(news);
  }

  async close(): Promise<void> {
    await this.channel.close();
    await this.#pool.end();
  }
}
