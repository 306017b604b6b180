import { spawn, type ChildProcess, type ChildProcessByStdio } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { inNode, type Runner } from "./runtime.ts";
import { Signals } from "./signals.ts";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));

/** A process that serves once it is told to. */
interface Loaded {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Resolves with the next line that it prints: when it is loaded, and when it serves. */
  readonly line: () => Promise<void>;
}

/** A server that is killed and comes back at the same address, with the same database. */
export class KilledServer extends Signals {
  readonly url: string;
  /** What its processes have complained of. */
  stderr = "";
  readonly #args: readonly string[];
  #runner: Runner;
  #child: ChildProcess | undefined;
  #next: Loaded | undefined;

  private constructor(folder: string, port: number, runner: Runner) {
    super(folder);
    this.#runner = runner;
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.#args = [script, String(port), join(folder, "tasks.db"), this.folder];
  }

  /** Resolves when it serves, in Node or another runtime. It ends with the test. */
  static async start(runner = inNode): Promise<KilledServer> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-peers-"));
    const server = new KilledServer(folder, await freePort(), runner);
    // What is registered later runs first: its processes have ended by then.
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    await server.serve();
    return server;
  }

  async serve(): Promise<void> {
    const next = this.#next ?? (await this.#load());
    this.#next = undefined;
    this.#child = next.child;
    next.child.stdin.write("\n");
    await next.line();
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it in order. Resolves with its exit code. */
  stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  /** Kills it, and goes on in another runtime. */
  async moveTo(runner: Runner): Promise<void> {
    this.#runner = runner;
    await this.restart();
  }

  /**
   * The next process is loaded before this one ends: libraries resume a stream a few times within seconds, in which a busy
   * machine may not load a process.
   */
  async #end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#child === undefined || !isAlive(this.#child)) return null;
    this.#next ??= await this.#load();
    await endOf(this.#child, signal);
    return this.#child.exitCode;
  }

  async #load(): Promise<Loaded> {
    const [command, ...args] = this.#runner;
    const child = spawn(command, [...args, ...this.#args], { stdio: "pipe" });
    child.stderr.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    child.stdin.on("error", () => undefined); // it was killed before it read
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const line = async (): Promise<void> => {
      const { done } = await lines.next();
      if (done) throw new Error(`The server ended before it served: ${this.stderr}`);
    };
    const loaded = { child, line };
    onTestFinished(() => endOf(child, "SIGKILL"));
    await line();
    return loaded;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.serve();
  }
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isAlive(child)) return;
  const ended = once(child, "close"); // all that it wrote was read
  child.kill(signal);
  await ended;
}

/** A port that is free now, and that no connection takes while its server is down: systems take those from above. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await Promise.race([
      once(probe, "listening").then(() => true),
      once(probe, "error").then(() => false),
    ]).catch(() => false);
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}
