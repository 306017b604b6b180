import { readdirSync, readFileSync } from "node:fs";

/** The resolution of the system's processor time (ms). */
const tickMs = 10;

/** What processes have used; all NaN if the system has no /proc, or does not let this process read that of others. */
export interface Usage {
  /** Processor time so far (ms), with that of children that have ended. */
  readonly cpuMs: number;
  /** Memory now (MiB), in which what several of them share counts once. */
  readonly memoryMiB: number;
  /** Bytes that they have given to the disk so far, with those of children that have ended: logs, tables and whatever else. */
  readonly writtenBytes: number;
}

const unknown: Usage = { cpuMs: Number.NaN, memoryMiB: Number.NaN, writtenBytes: Number.NaN };

/** What the processes and all of their running descendants have used. */
export function usageOf(pids: readonly number[]): Usage {
  try {
    return tree(pids)
      .map((pid) => ({ cpuMs: cpuMsOf(pid), memoryMiB: memoryOf(pid), writtenBytes: writtenBy(pid) }))
      .reduce((sum, one) => ({
        cpuMs: sum.cpuMs + one.cpuMs,
        memoryMiB: sum.memoryMiB + one.memoryMiB,
        writtenBytes: sum.writtenBytes + one.writtenBytes,
      }));
  } catch {
    return unknown;
  }
}

/** Processor time of a process and its descendants (ms); NaN if the system has no /proc. */
export function cpuMsBelow(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN;
  try {
    return tree([pid]).reduce((sum, each) => sum + cpuMsOf(each), 0);
  } catch {
    return Number.NaN;
  }
}

/** The processes with all of their descendants. */
function tree(roots: readonly number[]): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(statOf(Number(name))[1]) }));
  const found = new Set(roots);
  // A set goes on to what is added to it meanwhile.
  for (const pid of found) for (const each of parents) if (each.parent === pid) found.add(each.pid);
  return [...found];
}

/** From the state on; empty if the process has ended. */
function statOf(pid: number): readonly string[] {
  const stat = read(pid, "stat");
  // The program's name may contain spaces, so count from its closing parenthesis.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

const cpuMsOf = (pid: number): number =>
  statOf(pid)
    .slice(11, 15)
    .reduce((sum, ticks) => sum + Number(ticks) * tickMs, 0);

const memoryOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB$/m.exec(read(pid, "smaps_rollup"))?.[1] ?? 0) / 1_024;

const writtenBy = (pid: number): number => Number(/^write_bytes: (\d+)$/m.exec(read(pid, "io"))?.[1] ?? 0);

/** Empty if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
