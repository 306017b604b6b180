import { readdirSync, readFileSync } from "node:fs";

/** The resolution of the system's processor time (ms). */
const tickMs = 10;

/** Processor time of a process and its running descendants, in ms; NaN if the system has no /proc. */
export function cpuMsBelow(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN;
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => ticksOf(name, pid))
      .reduce((sum, ticks) => sum + ticks * tickMs, 0);
  } catch {
    return Number.NaN;
  }
}

function ticksOf(name: string, ancestor: number): number {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, "latin1");
    // The program's name may contain spaces, so count from its closing parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const isOne = Number(name) === ancestor || Number(fields[1]) === ancestor;
    return isOne ? Number(fields[11]) + Number(fields[12]) : 0;
  } catch {
    return 0; // it has ended meanwhile
  }
}
