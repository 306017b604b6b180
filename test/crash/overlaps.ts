import type { LogLine } from "./log.ts";

interface Attempt {
  readonly pid: number;
  returned: boolean;
}

/** Attempts that began while another one of the task was not over, and what went on after the next had begun: there must be none. */
export function overlappingAttempts(lines: readonly LogLine[]): string[] {
  const attempts = new Map<string, Attempt>();
  const killed = new Set<number>();
  const problems: string[] = [];
  for (const { event, task, pid } of lines) {
    if (event === "killed") {
      killed.add(pid);
      continue;
    }
    const attempt = attempts.get(task);
    if (event === "begins") {
      if (attempt !== undefined && !attempt.returned && !killed.has(attempt.pid))
        problems.push(`${pid} began ${task} while ${attempt.pid} ran it`);
      attempts.set(task, { pid, returned: false });
    } else if (attempt?.pid !== pid) {
      problems.push(`${pid} went on with ${task} after ${attempt?.pid} had begun it: ${event}`);
    } else if (event === "returns") attempt.returned = true;
  }
  return problems;
}
