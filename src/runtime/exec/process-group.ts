import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { promisify } from "node:util";
import { systemClock } from "../clock.ts";

/** A process that leads a group of its own, on one machine, until that machine starts again. */
export interface GroupLeader {
  readonly pid: number;
  /** As the system tells it: another process that gets the same number later began at another time. */
  readonly startedAt: string;
  readonly machine: Machine;
}

export interface Machine {
  readonly host: string;
  /** Another one after each start of the machine or of the container, and empty where the system does not tell. */
  readonly boot: string;
}

const run = promisify(execFile);

let known: Promise<Machine> | undefined;

/** The machine, or the container, that this process runs in. */
export function thisMachine(): Promise<Machine> {
  known ??= bootOf().then((boot) => ({ host: hostname(), boot }));
  return known;
}

async function bootOf(): Promise<string> {
  try {
    if (process.platform !== "linux") return (await run("sysctl", ["-n", "kern.boottime"])).stdout.trim();
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return `${boot} ${await readlink("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** When the process of that number began; undefined if there is none, or only what its parent has not yet taken note of. */
export async function startOf(pid: number): Promise<string | undefined> {
  try {
    if (process.platform === "linux") {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return /^[ZX]/.test(fields[0] ?? "Z") ? undefined : fields[19];
    }
    const { stdout } = await run("ps", ["-o", "stat=,lstart=", "-p", String(pid)]);
    const [, state, started] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
    return state?.startsWith("Z") === true ? undefined : started;
  } catch {
    return undefined;
  }
}

/** Whether the leader itself runs. */
export async function leads({ pid, startedAt, machine }: GroupLeader): Promise<boolean> {
  const { boot } = await thisMachine();
  return boot === machine.boot && (await startOf(pid)) === startedAt;
}

const shortestLookMs = 20;

const longestLookMs = 250;

/** After SIGKILL, nothing is left but what the system has not yet taken note of, or may not be ended. */
const giveUpMs = 5_000;

/** Tells all processes of the group to end, ends those that are left after `graceMs`, and resolves when none is left. */
export async function endGroup(leader: GroupLeader, graceMs: number): Promise<void> {
  const { pid, startedAt, machine } = leader;
  const now = await startOf(pid);
  // The number of a leader that has ended goes to nobody else while processes of its group live.
  const isOther = (await thisMachine()).boot !== machine.boot || (now !== undefined && now !== startedAt);
  if (isOther || !signal(pid, "SIGTERM")) return;
  const until = systemClock.elapsed() + graceMs;
  for (let ms = shortestLookMs; signal(pid, 0); ms = Math.min(ms * 2, longestLookMs)) {
    if (systemClock.elapsed() >= until + giveUpMs) return;
    if (systemClock.elapsed() >= until) signal(pid, "SIGKILL");
    await new Promise<void>((resolve) => systemClock.after(ms, resolve, "keep alive"));
  }
}

/** Whether a process of the group was there to get the signal; 0 only asks. */
function signal(group: number, what: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, what);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it has become another user's, as sudo does
  }
}
