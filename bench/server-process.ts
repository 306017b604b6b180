import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A server that uses at most this much processor time between two checks only runs its timers. */
const idleMs = 20;
const lookEveryMs = 100;
const quietForMs = 1_000;
const mostBusyMs = 120_000;

/** A server in its own process, which prints its URL once it serves and ends on SIGTERM. */
export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #kill: () => void;

  private constructor(url: string, child: ChildProcess, kill: () => void) {
    this.url = url;
    this.#child = child;
    this.#kill = kill;
  }

  /** Starts a script, named relative to this folder. Its databases are created in `folder`. */
  static async start(
    script: string,
    folder: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], {
      cwd: folder,
      env: { ...process.env, PORT: "0", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    // A bench that is interrupted leaves no servers behind.
    const kill = (): void => void child.kill("SIGKILL");
    process.prependOnceListener("exit", kill);
    const exited = once(child, "exit").then(() => Promise.reject(new Error(`${script} did not start.`)));
    const [line] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    exited.catch(() => undefined);
    return new ServerProcess(line.toString().trim(), child, kill);
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Processor time of all its threads so far, in steps of 10 ms; undefined if the system has no /proc. */
  cpuMs(): number | undefined {
    try {
      const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "latin1");
      // The program's name may contain spaces, so count from its closing parenthesis.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10;
    } catch {
      return undefined;
    }
  }

  #spentMs(): number {
    const ms = this.cpuMs();
    if (ms === undefined) throw new Error("The processor time of the server cannot be read on this system.");
    return ms;
  }

  /** Its resident memory, in MiB; throws if the system has no /proc. */
  memoryMiB(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "latin1");
    const kiB = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return Number(kiB) / 1_024;
  }

  /** Resolves once the server is idle, with the time since when, by the clock of `performance.now`. */
  async quiet(): Promise<number> {
    const end = performance.now() + mostBusyMs;
    let since = performance.now();
    let spentMs = this.#spentMs();
    while (performance.now() < end) {
      await pause(lookEveryMs);
      const now = this.#spentMs();
      if (now - spentMs > idleMs) since = performance.now();
      else if (performance.now() - since > quietForMs) return since;
      spentMs = now;
    }
    throw new Error(`The server was busy for ${mostBusyMs} ms.`);
  }

  /** Ends it, in order or not; does nothing if it has ended. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill(signal);
    await exited;
    process.off("exit", this.#kill);
  }
}
