import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** One process of a server, from its start on: a script that prints its URL once it serves. */
export class ServerProcess {
  /** Rejects if the process ends without being asked to, with the last lines that it printed. */
  readonly unasked: Promise<never>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<unknown>;
  #isAsked = false;

  constructor(script: URL, args: readonly string[]) {
    const child = spawn(process.execPath, [fileURLToPath(script), ...args], { stdio: "pipe" });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    this.#child = child;
    this.#exited = once(child, "close");
    this.unasked = new Promise((_, reject) => {
      const end = (): void => {
        if (!this.#isAsked) reject(new Error(`The server ended by itself. ${stderr.trim()}`));
      };
      this.#exited.then(end, reject);
    });
    this.unasked.catch(() => undefined); // heard by whoever waits, if anybody does
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its URL, once it serves. */
  async ready(): Promise<string> {
    const line = once(this.#child.stdout, "data").then(([chunk]) => String(chunk).trim());
    return Promise.race([line, this.unasked]);
  }

  /** Ends it as a crash would: it gets no warning, and writes nothing more. */
  async kill(): Promise<void> {
    this.killNow();
    await this.#exited;
  }

  /** The same, for a process that ends itself and cannot wait. */
  killNow(): void {
    this.#isAsked = true;
    this.#child.kill("SIGKILL");
  }

  /** Ends it gracefully: it closes when its stdin does. */
  async stop(): Promise<void> {
    this.#isAsked = true;
    this.#child.stdin.end();
    await this.#exited;
    if (this.#child.exitCode !== 0) throw new Error(`The server stopped with code ${this.#child.exitCode}.`);
  }
}
