import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Held } from "./server.ts";

const usual = new URL("./server.ts", import.meta.url);

/** The server in a process of its own, so that what its clients hold is not taken for its own. It tells what it holds. */
export class LoadedServer<Told = Held> {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string | undefined;
  #stderr = "";

  private constructor(url: string, child: ChildProcess, folder: string | undefined) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
    child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  /** Without arguments it gets a database of its own, which goes with it. */
  static async start<Told = Held>(script = usual, given?: readonly string[]): Promise<LoadedServer<Told>> {
    const folder = given === undefined ? await mkdtemp(join(tmpdir(), "holdfast-load-")) : undefined;
    const args = given ?? [join(folder ?? "", "tasks.db")];
    const child = spawn(process.execPath, ["--expose-gc", fileURLToPath(script), ...args], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const exited = once(child, "exit").then(() => Promise.reject(new Error("The server did not start.")));
    if (child.stdout === null) throw new Error("The server has no stdout.");
    const [line] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    exited.catch(() => undefined);
    return new LoadedServer(line.toString().trim(), child, folder);
  }

  /** What it had to say; nothing, when all is well. */
  get stderr(): string {
    return this.#stderr;
  }

  /** What it holds once it has collected its garbage. */
  async held(): Promise<Told> {
    const answered = once(this.#child, "message");
    this.#child.send("held");
    const [held] = (await answered) as [Told];
    return held;
  }

  /** Ends it in order; resolves with its exit code. */
  async stop(): Promise<number | null> {
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    const [code] = (await exited) as [number | null];
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
    return code;
  }

  /** Resolves with the process that it was. */
  async kill(): Promise<number> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    return this.#child.pid ?? 0;
  }
}
