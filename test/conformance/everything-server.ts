import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** How a run of the server ended. */
interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The everything server as a process of its own, on a free port and with a store that ends with it. */
export class EverythingServer {
  /** Resolves when the process has ended, with all that it wrote. */
  readonly ended: Promise<End>;
  /** Rejects where there is none. */
  readonly firstLine: Promise<string>;
  readonly #child: ReturnType<typeof spawnServer>;

  constructor(options: StartOptions = {}) {
    const child = spawnServer(options);
    this.#child = child;
    const closed = once(child, "close");
    const stdout = text(child.stdout);
    const stderr = text(child.stderr);
    this.ended = closed.then(async () => ({
      code: child.exitCode,
      stdout: await stdout,
      stderr: await stderr,
    }));
    const line = once(createInterface(child.stdout), "line").then(([first]) => String(first));
    const never = this.ended.then(({ code, stderr: errors }) => {
      throw new Error(`It ended with ${code} before it printed a line: ${errors}`);
    });
    this.firstLine = Promise.race([line, never]);
    this.firstLine.catch(() => undefined); // a run that only has to fail
  }

  /** Where it serves, once it does. */
  get url(): Promise<string> {
    return this.firstLine;
  }

  get stdin(): NodeJS.WritableStream {
    return this.#child.stdin;
  }

  /** Resolves when the process has ended. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<End> {
    this.#child.kill(signal);
    return this.ended;
  }
}

function spawnServer({ args = [], env = {} }: StartOptions) {
  return spawn(process.execPath, [`${root}test/everything/main.ts`, ...args], {
    cwd: root,
    env: { ...process.env, PORT: "0", HOLDFAST_STORE: "memory:", ...env },
    stdio: "pipe",
  });
}
