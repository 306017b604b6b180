import type { Settings, StopMode } from "./cluster.ts";
import { Supervised } from "./supervised.ts";

/** What its supervisor is told to do … */
export type Order = "start" | StopMode;

/** … and what it says then. */
export type Reply = { readonly url: string; readonly pid: number } | { readonly problem: string };

/** A Postgres that nobody else uses. It ends with the process that started it, whatever ends that. */
export class OwnServer implements AsyncDisposable {
  readonly #supervisor: Supervised;
  #url = "";
  #pid = Number.NaN;

  private constructor(settings: Settings) {
    this.#supervisor = new Supervised(new URL("./supervisor.ts", import.meta.url), JSON.stringify(settings));
  }

  /** Resolves when it takes connections. Settings are those of `postgresql.conf`, beside which tests have their defaults. */
  static async start(settings: Settings = {}): Promise<OwnServer> {
    const server = new OwnServer(settings);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.end();
      throw error;
    }
  }

  /** Of its database; the same after each start. */
  get url(): string {
    return this.#url;
  }

  /** Of the process that takes its connections. */
  get pid(): number {
    return this.#pid;
  }

  /** After a stop: at the same port, with what was committed. */
  async start(): Promise<void> {
    await this.#order("start");
  }

  /** `immediate` is as a crash is: all connections are cut, and the next start recovers. */
  async stop(mode: StopMode): Promise<void> {
    await this.#order(mode);
  }

  /** Resolves when neither process nor folder is left. */
  end(): Promise<void> {
    return this.#supervisor.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #order(order: Order): Promise<void> {
    this.#supervisor.tell(order);
    const reply = JSON.parse(await this.#supervisor.hear()) as Reply;
    if ("problem" in reply) throw new Error(reply.problem);
    this.#url = reply.url;
    this.#pid = reply.pid;
  }
}
