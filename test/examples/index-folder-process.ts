import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const root = fileURLToPath(new URL("../../", import.meta.url));

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A script of the example, as npm would start it, with its output in pipes. */
export class ExampleProcess {
  /** Everything that it prints, once it has ended. */
  readonly stdout: Promise<string>;
  readonly stderr: Promise<string>;
  readonly #child: ReturnType<typeof spawnPiped>;
  readonly #exited: Promise<unknown>;
  #seen = "";
  #isClosed = false;

  constructor(script: string, args: readonly string[], options: RunOptions = {}) {
    const child = spawnPiped([`${root}examples/index-folder/${script}`, ...args], options);
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => (this.#seen += chunk.toString()));
    this.stdout = text(child.stdout);
    this.stderr = text(child.stderr);
    this.#exited = once(child, "close");
    child.once("close", () => (this.#isClosed = true));
    onTestFinished(() => void child.kill("SIGKILL"));
  }

  /** Resolves with what was printed so far, once that has `pattern` in it. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#seen);
      if (found !== null) return found;
      if (this.#isClosed) throw new Error(`It ended without ${pattern}: ${this.#seen}`);
      await Promise.race([once(this.#child.stdout, "data"), this.#exited]);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit code. */
  async ended(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }
}

function spawnPiped(args: readonly string[], { cwd = root, env }: RunOptions) {
  return spawn(process.execPath, args, { cwd, env: { ...process.env, ...env }, stdio: "pipe" });
}
