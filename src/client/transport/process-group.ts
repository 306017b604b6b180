import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { ClientClock } from "../clock.ts";

/** How long a server is waited for that was asked to end, before it is asked less kindly. */
const graceMs = 2_000;
const lookMs = 20;

const hasGroups = process.platform !== "win32";

/**
 * Waits for the end of the process that started it, however that came, and then ends the group `$1` as `end` does. A line
 * on stdin says that there is nothing left to do.
 */
const guard = `read -r over && exit
sleep ${graceMs / 1000}
kill -s TERM -- "-$1" && sleep ${graceMs / 1000} && kill -s KILL -- "-$1"`;

/**
 * A process with all that it has started, as wrappers do (`npx`, `uvx`, `sh -c`): to end the wrapper alone would leave the
 * server. On POSIX it has a process group of its own, so that the terminal's Ctrl-C does not reach it either; a guard ends it
 * if this process dies first.
 */
export class ProcessGroup {
  /** What `spawn` has to be told. */
  static readonly spawnOptions = { detached: hasGroups } as const;
  readonly #leader: ChildProcess;
  readonly #clock: ClientClock;
  readonly #guard: ChildProcess | undefined;

  constructor(leader: ChildProcess, clock: ClientClock) {
    this.#leader = leader;
    this.#clock = clock;
    const { pid } = leader;
    if (hasGroups && pid !== undefined) this.#guard = startGuard(pid);
  }

  /** Waits for the processes to end by themselves, then ends them by SIGTERM, and then by SIGKILL. */
  async end(): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#ends()) break;
      await this.#send(signal);
    }
    if (!this.#leaderHasEnded) await this.#ends();
    this.#guard?.stdin?.end("\n");
  }

  /** Whether they have ended in time. */
  async #ends(): Promise<boolean> {
    const deadline = this.#clock.deadline(graceMs);
    try {
      while (this.#isAlive()) await this.#clock.sleep(lookMs, deadline.signal);
      return true;
    } catch {
      return false;
    } finally {
      deadline.clear();
    }
  }

  get #leaderHasEnded(): boolean {
    const { pid, exitCode, signalCode } = this.#leader;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  #isAlive(): boolean {
    if (!this.#leaderHasEnded) return true;
    return hasGroups && this.#signalGroup(0);
  }

  /** Whether there is such a group still. */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#leader;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      return error instanceof Error && "code" in error && error.code === "EPERM";
    }
  }

  async #send(signal: NodeJS.Signals): Promise<void> {
    if (hasGroups) this.#signalGroup(signal);
    else await killTree(this.#leader);
  }
}

function startGuard(pid: number): ChildProcess {
  const child = spawn("/bin/sh", ["-c", guard, "holdfast-guard", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Where there is no shell, a server ends with its stdin at least.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}

/** Windows has no signals: this ends the process and all that came of it. */
async function killTree({ pid }: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const child = spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true });
  child.on("error", () => resolve());
  child.on("close", () => resolve());
  await promise;
}
