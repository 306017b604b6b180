import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { environmentOfTests } from "../cli/run-cli.ts";

/** A program that is killed and started again. Dispose of it: that ends it. */
export class Program implements AsyncDisposable {
  /** How often it was killed or stopped. */
  blows = 0;
  readonly #args: readonly string[];
  readonly #stderrFile: string;
  #child: ChildProcess | undefined;

  constructor(args: readonly string[], stderrFile: string) {
    this.#args = args;
    this.#stderrFile = stderrFile;
  }

  /** Resolves once it says that it is ready, or has ended. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, this.#args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: environmentOfTests(),
    });
    this.#child = child;
    child.stderr.on("data", (said: Buffer) => appendFileSync(this.#stderrFile, said));
    await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    child.stdout.resume();
  }

  /** The code with which it ended, or will. */
  async ended(): Promise<number | null | undefined> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null)
      await once(child, "exit");
    return child?.exitCode;
  }

  /** Not one more instruction runs in it for so long, whatever it holds. */
  async stop(pauseOver: Promise<unknown>): Promise<void> {
    this.blows++;
    this.#child?.kill("SIGSTOP");
    await pauseOver;
    this.#child?.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.blows++;
    this.#child?.kill("SIGKILL");
    await this.ended();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
