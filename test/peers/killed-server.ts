import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { Signals } from "./signals.ts";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));

/** A server that is killed and comes back at the same address, with the same database. */
export class KilledServer extends Signals {
  readonly url: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    super(folder);
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.#args = [script, String(port), join(folder, "tasks.db"), this.folder];
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
