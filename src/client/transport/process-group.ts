import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { win32 } from "node:path";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import type { ClientClock } from "../clock.ts";

/** The pause between closing stdin, SIGTERM and SIGKILL. */
const graceMs = 2_000;
const lookMs = 20;

const hasGroups = process.platform !== "win32";

/**
 * Waits until the process that started it ends in any way, and then ends the group `$1` as `end` does. A line on
 * stdin tells it to exit at once.
 */
const guard = `read -r over && exit
sleep ${graceMs / 1000}
kill -s TERM -- "-$1" && sleep ${graceMs / 1000} && kill -s KILL -- "-$1"`;

/**
 * A process and everything that it started. Ending only a wrapper (`npx`, `uvx`, `sh -c`) would leave the server
 * running. On POSIX the process has its own process group, so the terminal's Ctrl-C does not reach it; a guard
 * process ends the group if this process dies first.
 */
export class ProcessGroup {
  /** Options for `spawn`. */
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

  /** Whether all processes ended within the grace period. */
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

  /** Returns whether the group still exists. */
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
  // Without a shell there is no guard; most servers exit when their stdin closes.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}

/** Windows has no signals: `taskkill` ends the process and its descendants. */
async function killTree({ pid }: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const child = spawn(
    systemProgram("taskkill.exe", getDefaultEnvironment()),
    ["/pid", String(pid), "/t", "/f"],
    {
      stdio: "ignore",
      windowsHide: true,
    },
  );
  child.on("error", () => resolve());
  child.on("close", () => resolve());
  await promise;
}

/** The full path of a Windows program: a bare name would first be looked up in the working directory, which anyone may control. */
export function systemProgram(name: string, env: Readonly<Record<string, string | undefined>>): string {
  return win32.join(env["SYSTEMROOT"] || "C:\\Windows", "System32", name);
}
