import type { Settings, StopMode } from "./cluster.ts";
import { Supervised } from "./supervised.ts";

/** What its supervisor is told to do … */
export type Order = "start" | StopMode;

/** … and what it says then. */
export type Reply =
  { readonly url: string; readonly pid: number; readonly data: string } | { readonly problem: string };

/** A Postgres that nobody else uses. It ends with the process that started it, whatever ends that. */
export class OwnServer implements AsyncDisposable {
  readonly #supervisor: Supervised;
  #url = "";
  #pid = Number.NaN;
  #data = "";

  private constructor(settings: Settings, copied: readonly string[]) {
    const program = new URL("./supervisor.ts", import.meta.url);
    this.#supervisor = new Supervised(program, JSON.stringify(settings), ...copied);
  }

  /** Resolves when it takes connections. Settings are those of `postgresql.conf`, beside which tests have their defaults. */
  static start(settings: Settings = {}): Promise<OwnServer> {
    return OwnServer.#started(settings, []);
  }

  /** Starts with a copy of the data of this server, which must be stopped, and follows what is at `url` from then on. */
  standby(url: string): Promise<OwnServer> {
    const { port, username } = new URL(url);
    const settings = {
      primary_conninfo: `host=127.0.0.1 port=${port} user=${username} application_name=standby`,
      wal_retrieve_retry_interval: "100ms",
    };
    return OwnServer.#started(settings, [this.#data]);
  }

  static async #started(settings: Settings, copied: readonly string[]): Promise<OwnServer> {
    const server = new OwnServer(settings, copied);
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
    this.#data = reply.data;
  }
}
