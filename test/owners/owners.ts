import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type TaskClient, type TaskHandle } from "holdfast/client";
import { expect, onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";
import { Signals } from "../peers/signals.ts";
import { newPlace, type Place } from "../places/place.ts";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));
const loaded = fileURLToPath(new URL("./loaded-server.ts", import.meta.url));

/** What tools answer in text. */
export const text = (said: string): object => ({ content: [{ type: "text", text: said }] });

/** One process that serves the tasks of the place over HTTP. */
export class Owner {
  readonly url: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #place: Place;

  constructor(child: ChildProcess, url: string, place: Place) {
    this.url = url;
    this.#place = place;
    this.pid = child.pid ?? Number.NaN;
    this.#child = child;
  }

  /** A client of this process; the references of its tasks are good at all others, too. */
  async client(options: ConnectOptions = {}): Promise<TaskClient> {
    const client = await connect(this.url, { serverName: "owners", pollFloorMs: 20, ...options });
    onTestFinished(() => client.close());
    return client;
  }

  /** With SIGSTOP nothing more runs in it; with SIGKILL or SIGTERM resolves when it has ended. */
  async send(signal: "SIGSTOP" | "SIGCONT" | "SIGTERM" | "SIGKILL"): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    if (signal === "SIGKILL" || signal === "SIGTERM") await ended;
    if (signal === "SIGKILL") await this.#place.killed(this.pid);
  }
}

/** One place for tasks, for any number of server processes; the place and the processes end with the test. */
export class Owners extends Signals {
  readonly #place: Place;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(folder: string, place: Place, env: Readonly<Record<string, string>>) {
    super(folder);
    this.#place = place;
    this.#env = env;
  }

  /** For `storeAt`. */
  get database(): string {
    return this.#place.at;
  }

  /** With the usual patience for a file that another process holds: a busy machine needs it where nobody holds one. */
  static async inNewFolder(env: Readonly<Record<string, string>> = {}): Promise<Owners> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-owners-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const place = await newPlace(folder);
    onTestFinished(() => place.remove());
    return new Owners(folder, place, env);
  }

  /** What starts a process that serves the one client which started it. */
  command(...tools: readonly string[]) {
    return {
      command: process.execPath,
      args: [script, "stdio", this.database, this.folder, ...tools],
      env: { ...compileCache, ...this.#env },
    };
  }

  /** Starts a process that knows these tools; resolves when it serves. */
  start(...tools: readonly string[]): Promise<Owner> {
    return this.#start("http", tools);
  }

  /** Starts one that leaves its calls to others. */
  startServing(...tools: readonly string[]): Promise<Owner> {
    return this.#start("http-only", tools);
  }

  /** Starts one with the tools of `loaded-server.ts` at this port; 0: a free one. */
  startLoaded(port: number): Promise<Owner> {
    return this.#spawn(loaded, this.database, this.folder, String(port));
  }

  #start(way: string, tools: readonly string[]): Promise<Owner> {
    return this.#spawn(script, way, this.database, this.folder, ...tools);
  }

  async #spawn(...args: readonly string[]): Promise<Owner> {
    const child = spawn(process.execPath, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, ...this.#env },
    });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`The server ended with ${String(code)} before it served.`);
    });
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended.catch(() => undefined);
    };
    onTestFinished(kill);
    const line = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
    ended.catch(() => undefined);
    return new Owner(child, String(line[0]), this.#place);
  }

  /** Kills a process that a client has started. */
  async kill(pid: number | undefined): Promise<void> {
    if (pid === undefined) throw new Error("There is no such process.");
    process.kill(pid, "SIGKILL");
    await this.#place.killed(pid);
  }

  /** The processes that ran the handler of this word, in order. */
  runnersOf(word: string): readonly number[] {
    return this.eventsOf(word)
      .filter((event) => event.startsWith("(runs in "))
      .map((event) => Number(/\d+/.exec(event)?.[0]));
  }
}

/** For longer than a dead process goes unnoticed, and then a missing tool is waited for. */
const longMs = 2_000;

/** Reads a task again and again: it works on. The pauses leave the machine to the processes that could end it. */
export async function expectWorking(handle: TaskHandle, ms = longMs): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; await pause(20)) {
    expect(await handle.get()).toMatchObject({ status: "working" });
  }
}
