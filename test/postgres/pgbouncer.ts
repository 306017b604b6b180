import { Supervised } from "./supervised.ts";

/** What its supervisor says once: where it serves, or why it cannot. */
export type PgBouncerReply = { readonly url: string } | { readonly missing: string };

/** How many connections to the database all its clients share. */
export interface PgBouncerOptions {
  readonly poolSize?: number;
  /** How long a client has one of them. */
  readonly mode?: "transaction" | "statement";
}

/** A PgBouncer in front of a server; it ends with the process that started it. */
export class PgBouncer implements AsyncDisposable {
  readonly #supervisor: Supervised;
  /** That of the database, but for the port. */
  readonly url: string;

  private constructor(supervisor: Supervised, url: string) {
    this.#supervisor = supervisor;
    this.url = url;
  }

  /** Resolves when it takes connections, for the database of the URL and the others of that server; with a reason where this machine has none. */
  static async start(
    database: string,
    { poolSize = 10, mode = "transaction" }: PgBouncerOptions = {},
  ): Promise<PgBouncer | string> {
    const program = new URL("./pgbouncer-supervisor.ts", import.meta.url);
    const supervisor = new Supervised(program, database, String(poolSize), mode);
    try {
      const reply = JSON.parse(await supervisor.hear()) as PgBouncerReply;
      if ("url" in reply) return new PgBouncer(supervisor, reply.url);
      await supervisor.end();
      return reply.missing;
    } catch (error) {
      await supervisor.end();
      throw error;
    }
  }

  /** Resolves when neither process nor folder is left. */
  end(): Promise<void> {
    return this.#supervisor.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}
