import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));

/** One process of the server, to be killed. */
export class Victim {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #stderr = "";

  constructor(database: string, logFile: string, anonymous = "isolated") {
    this.#child = spawn(process.execPath, [script, database, logFile, anonymous], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#exited = once(this.#child, "exit");
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  /** What it had to say; nothing, when all is well. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Its URL once it serves; undefined when it ended before. */
  async ready(): Promise<string | undefined> {
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("the server has no stdout");
    const line = once(stdout, "data").then(([chunk]) => String(chunk).trim());
    return Promise.race([line, this.#exited.then(() => undefined)]);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
