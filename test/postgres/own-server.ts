import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Settings, StopMode } from "./cluster.ts";

/** What its supervisor is told to do … */
export type Order = "start" | StopMode;

/** … and what it says then. */
export type Reply = { readonly url: string; readonly pid: number } | { readonly problem: string };

const program = fileURLToPath(new URL("./supervisor.ts", import.meta.url));

/** A Postgres that nobody else uses. It ends with the process that started it, whatever ends that. */
export class OwnServer implements AsyncDisposable {
  readonly #supervisor: ChildProcess;
  readonly #replies: AsyncIterator<string>;
  readonly #problems: Promise<string>;
  readonly #closed: Promise<unknown>;
  #url = "";
  #pid = Number.NaN;

  private constructor(settings: Settings) {
    // A process group of its own: Ctrl-C in a terminal reaches all of a group at once.
    const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#supervisor = child;
    this.#replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.#problems = text(child.stderr);
    this.#closed = once(child, "close");
    child.stdin.on("error", () => undefined); // it has ended by itself, as the missing reply says
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
  async end(): Promise<void> {
    this.#supervisor.stdin?.end();
    await this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #order(order: Order): Promise<void> {
    this.#supervisor.stdin?.write(`${order}\n`);
    const { done, value } = await this.#replies.next();
    if (done === true) throw new Error(`There is no Postgres: ${await this.#problems}`);
    const reply = JSON.parse(value) as Reply;
    if ("problem" in reply) throw new Error(reply.problem);
    this.#url = reply.url;
    this.#pid = reply.pid;
  }
}
