import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { postgresStore } from "holdfast/postgres";

export type StoreArguments = Parameters<typeof postgresStore>;

/** That the queue failed, or that a handler takes long on a busy machine. */
const isWarning = /^\(node:\d+\) HoldfastWarning: The (queue|handler of tool)|^\(Use `node --trace-warnings/;

const script = fileURLToPath(new URL("./node.ts", import.meta.url));

/** One process that serves, and runs handlers. */
export class NodeProcess implements AsyncDisposable {
  readonly url: string;
  /** Aborts when it is killed. */
  readonly gone: AbortSignal;
  readonly #gone = new AbortController();
  readonly #child: ChildProcess;
  readonly #said: Promise<string>;

  private constructor(child: ChildProcess, said: Promise<string>, url: string) {
    this.#child = child;
    this.#said = said;
    this.url = url;
    this.gone = this.#gone.signal;
  }

  /** Resolves when it serves. */
  static async start(logFile: string, store: StoreArguments): Promise<NodeProcess> {
    const child = spawn(process.execPath, [script, logFile, JSON.stringify(store)], { stdio: "pipe" });
    const said = text(child.stderr);
    const ended = once(child, "exit").then(async () => {
      throw new Error(`A node ended before it served: ${await said}`);
    });
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
    ended.catch(() => undefined);
    return new NodeProcess(child, said, String(line));
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Undefined while it runs, and where it was killed: what it ended with by itself. */
  get endedBy(): number | string | undefined {
    if (this.#gone.signal.aborted) return undefined;
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined;
  }

  /** Not one more instruction runs in it, whatever it holds. */
  stop(): void {
    this.#child.kill("SIGSTOP");
  }

  continue(): void {
    this.#child.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.#gone.abort();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  /** The codes of the errors that it reported; known once it was killed. */
  async reported(): Promise<readonly string[]> {
    const lines = (await this.#said).split("\n").filter((line) => line !== "" && !isWarning.test(line));
    return lines.map((line) => {
      const report = line.startsWith("{")
        ? (JSON.parse(line) as { code?: string; error: string })
        : undefined;
      return report?.code ?? report?.error ?? line;
    });
  }

  async isReady(): Promise<boolean> {
    try {
      return (
        (await fetch(new URL("/readyz", this.url), { signal: AbortSignal.timeout(10_000) })).status === 200
      );
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
