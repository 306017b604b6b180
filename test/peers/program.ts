import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { programOf } from "./our-side.ts";

/** How a run of a program ended. */
interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line of others, whose runs share a home folder. */
export class Program {
  readonly #path: string;
  readonly env: Record<string, string>;

  constructor(path: string, home: string) {
    this.#path = path;
    this.env = { HOME: home };
  }

  async runs(...args: readonly string[]): Promise<Ended> {
    const child = spawn(process.execPath, [this.#path, ...args], {
      env: { ...process.env, ...this.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000, // of a program that hangs
      killSignal: "SIGKILL",
    });
    const written = Promise.all([text(child.stdout), text(child.stderr)]);
    await once(child, "exit");
    const [stdout, stderr] = await written;
    return { code: child.exitCode, stdout, stderr };
  }

  /** The JSON that it prints. Rejects where it fails. */
  async prints(...args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await this.runs(...args);
    if (code !== 0) throw new Error(`It ended with ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  }
}

/** A server and a program for the tests of a `describe`, which `open` connects and `close` ends. */
export function programWithServer(
  [packageName, command]: readonly [string, string],
  open: (program: Program, url: string) => Promise<unknown> = async () => undefined,
  close: (program: Program) => Promise<unknown> = async () => undefined,
): { readonly program: () => Program; readonly url: () => Promise<string> } {
  let server: EverythingServer | undefined;
  let program: Program | undefined;
  let home = "";
  const started = <Part>(part: Part | undefined): Part => {
    if (part === undefined) throw new Error("It runs in tests alone.");
    return part;
  };
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "holdfast-peers-"));
    server = new EverythingServer();
    program = new Program(programOf(packageName, command), home);
    await open(program, await server.url);
  }, 120_000);
  afterAll(async () => {
    await close(started(program));
    await server?.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }, 60_000);
  return { program: () => started(program), url: () => started(server).url };
}
