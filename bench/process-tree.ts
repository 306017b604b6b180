import { readdirSync, readFileSync } from "node:fs";

/** The resolution of the system's processor time (ms). */
const tickMs = 10;

/** What processes use; all NaN if the system has no /proc, or does not let this process read that of others. */
export interface Usage {
  /** Processor time so far (ms), with that of children that have ended. */
  readonly cpuMs: number;
  /** Memory now (MiB), in which what several of them share counts once. */
  readonly memoryMiB: number;
}

/** What the processes and all of their running descendants use. */
export function usageOf(pids: readonly number[]): Usage {
  return {
    cpuMs: sumOf(() => tree(pids), cpuMsOf),
    memoryMiB: sumOf(() => tree(pids), memoryOf),
  };
}

/**
 * Bytes that a process and its descendants have written so far, also to sockets if not by `send`; with `only`, the descendants alone.
 * What the system says of the disk (`write_bytes`) is not used: it counts whole folios of the page cache, up to 2 MB for a byte.
 */
export const writtenBelow = (pid: number, only?: "descendants"): number =>
  sumOf(() => tree([pid]).filter((each) => only === undefined || each !== pid), writtenBy);

function sumOf(pids: () => readonly number[], of: (pid: number) => number): number {
  try {
    return pids().reduce((sum, pid) => sum + of(pid), 0);
  } catch {
    return Number.NaN;
  }
}

/** Processor time of a process and its descendants (ms); NaN if the system has no /proc. */
export const cpuMsBelow = (pid: number | undefined): number =>
  pid === undefined ? Number.NaN : sumOf(() => tree([pid]), cpuMsOf);

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

const writtenBy = (pid: number): number => Number(/^wchar: (\d+)$/m.exec(read(pid, "io"))?.[1] ?? 0);

/** Empty if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
