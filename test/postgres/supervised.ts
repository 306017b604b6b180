import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** A program that has a server of its own, and ends it when its stdin closes: so the server ends with this process, whatever ends that. */
export class Supervised {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #problems: Promise<string>;
  readonly #closed: Promise<unknown>;

  constructor(program: URL, ...args: readonly string[]) {
    // A process group of its own: Ctrl-C in a terminal reaches all of a group at once.
    const child = spawn(process.execPath, [fileURLToPath(program), ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.#problems = text(child.stderr);
    this.#closed = once(child, "close");
    child.stdin.on("error", () => undefined); // it has ended by itself, as the missing line says
  }

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Rejects with its complaints where it has ended instead. */
  async hear(): Promise<string> {
    const { done, value } = await this.#lines.next();
    if (done === true) throw new Error(`The server has ended: ${await this.#problems}`);
    return value;
  }

  /** Resolves when nothing is left of it. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#closed;
  }
}
