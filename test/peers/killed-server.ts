import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));

/** A server that is killed and comes back at the same address, with the same database. */
export class KilledServer {
  readonly url: string;
  readonly #args: readonly string[];
  /** What the test and the processes of the server tell each other. */
  readonly #signals: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.#signals = join(folder, "signals");
    mkdirSync(this.#signals);
    this.#args = [script, String(port), join(folder, "tasks.db"), this.#signals];
  }

  /** Resolves when it serves. It ends with the test. */
  static async start(): Promise<KilledServer> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-peers-"));
    const server = new KilledServer(folder, await freePort());
    onTestFinished(async () => {
      await server.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    await server.serve();
    return server;
  }

  async serve(): Promise<void> {
    const child = spawn(process.execPath, this.#args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`The server ended with ${code} before it served.`);
    });
    await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Ends it in order. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.serve();
  }

  /** Lets the handlers of this word go on. */
  openGate(word: string): void {
    writeFileSync(join(this.#signals, `${word}.open`), "");
  }

  /** The steps that its processes ran for this word, in order. */
  stepsOf(word: string): readonly string[] {
    return this.#eventsOf(word).filter((event) => !event.startsWith("("));
  }

  /** Resolves when a handler has written so many times that this step began, or that it is at this point: `(waits)`. */
  async logged(event: string, word: string, times = 1): Promise<void> {
    const found = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#eventsOf(word).filter((each) => each === event).length >= times) found.resolve();
    };
    const watcher = watch(this.#signals, look);
    look();
    await found.promise.finally(() => watcher.close());
  }

  #eventsOf(word: string): readonly string[] {
    const path = join(this.#signals, "log");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => line.endsWith(` ${word}`)).map((line) => line.slice(0, -word.length - 1));
  }
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
