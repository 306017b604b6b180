import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import type { EventToSend, SentEvent } from "./event-streams.ts";
import type { LogLine } from "./log.ts";
import type { Place } from "../places/place.ts";
import { longestStandstillMs, standstills } from "./standstills.ts";

const script = fileURLToPath(new URL("./server.ts", import.meta.url));

export interface VictimOptions {
  readonly place: Place;
  readonly logFile: string;
  readonly anonymous?: "isolated" | "shared";
  readonly busyTimeoutMs?: number;
  /** It takes calls and leaves them to others. */
  readonly onlyServes?: boolean;
  readonly maxParkedFrames?: number;
}

/** One process of the server, to be stopped and killed. */
export class Victim {
  readonly #logFile: string;
  readonly #place: Place;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Events of which it has not said what became of them. */
  readonly #events = new Map<string, (sent: SentEvent) => void>();
  /** What was done to it. */
  readonly #done: LogLine[] = [];
  #stderr = "";
  #wasStopped = false;

  constructor({
    place,
    logFile,
    anonymous = "isolated",
    busyTimeoutMs = 5_000,
    onlyServes = false,
    maxParkedFrames = 1,
  }: VictimOptions) {
    this.#logFile = logFile;
    this.#place = place;
    const args = [
      script,
      place.at,
      logFile,
      anonymous,
      String(busyTimeoutMs),
      onlyServes ? "serve" : "serve,work",
      String(maxParkedFrames),
    ];
    this.#child = spawn(process.execPath, args, { stdio: "pipe" });
    this.#exited = once(this.#child, "exit");
    const { stdin, stdout } = this.#child;
    stdin?.on("error", () => undefined); // it was killed before it has read all
    if (stdout !== null) createInterface({ input: stdout }).on("line", (line) => this.#onLine(line));
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  /** What it had to say; nothing, when all is well. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Whether it stood still at any time. */
  get wasStopped(): boolean {
    return this.#wasStopped;
  }

  /** Whether it stood still for so long that others may have taken its tasks. */
  get mayHaveLostTasks(): boolean {
    const longestMs = longestStandstillMs(this.#place.at);
    return standstills(this.#done).some(({ since, until }) => until - since >= longestMs);
  }

  /** Its URL once it serves; undefined when it ended before. */
  async ready(): Promise<string | undefined> {
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("the server has no stdout");
    const line = once(stdout, "data").then(([chunk]) => String(chunk).trim());
    return Promise.race([line, this.#exited.then(() => undefined)]);
  }

  /** Has it send an event; resolves with undefined where it ended before it said what became of that. */
  sendEvent(event: EventToSend): Promise<SentEvent | undefined> {
    const { promise, resolve } = Promise.withResolvers<SentEvent>();
    this.#events.set(`${event.taskId} ${event.dedupeId}`, resolve);
    this.#child.stdin?.write(`${JSON.stringify(event)}\n`);
    return Promise.race([promise, this.#exited.then(() => undefined)]);
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error("the server is no process");
    return pid;
  }

  /** Not one more instruction runs in it, whatever it holds. */
  stop(): void {
    this.#wasStopped = true;
    this.#child.kill("SIGSTOP");
    this.#log("stopped");
  }

  continue(): void {
    this.#log("continued");
    this.#child.kill("SIGCONT");
  }

  /** Ends a stopped one, too. The log says so before it happens. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Lets it end in order, as a deploy does. */
  retire(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#log("killed");
    this.#child.kill(signal);
    await this.#exited;
    if (signal === "SIGKILL") await this.#place.killed(this.pid);
  }

  /** The first one is its URL. */
  #onLine(line: string): void {
    if (!line.startsWith("{")) return;
    const { taskId, dedupeId, sent } = JSON.parse(line) as EventToSend & { readonly sent: SentEvent };
    this.#events.get(`${taskId} ${dedupeId}`)?.(sent);
  }

  #log(event: "killed" | "stopped" | "continued"): void {
    const line: LogLine = { event, task: "", key: "", value: "", attempt: 0, pid: this.pid, at: Date.now() };
    this.#done.push(line);
    appendFileSync(this.#logFile, `${JSON.stringify(line)}\n`);
  }
}
