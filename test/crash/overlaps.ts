import type { LogLine } from "./log.ts";
import { standstills } from "./standstills.ts";

interface Attempt {
  readonly number: number;
  readonly pid: number;
  readonly at: number;
  readonly works: Set<string>;
  readonly waits: Set<string>;
  returned: boolean;
}

/**
 * Attempts that began while another one of the task was not over, and what went on after the next had begun: there must be none.
 * One that waits may have been dropped. One whose process stood still for so long (`standstillMs`) that others took its task may go on with what it
 * knows, which was stored before that: but it begins no step.
 */
export function overlappingAttempts(
  lines: readonly LogLine[],
  standstillMs = Number.POSITIVE_INFINITY,
): string[] {
  const attempts = new Map<string, Attempt>();
  const killed = new Set<number>();
  const taken = new Set<string>();
  const problems: string[] = [];
  const stands = new Map(
    [...Map.groupBy(lines, ({ pid }) => pid)].map(([pid, own]) => [pid, standstills(own)]),
  );
  const mayBeTaken = ({ pid, at: began }: Attempt, at: number): boolean =>
    stands
      .get(pid)
      ?.some(
        ({ since, until }) => until > began && at - since >= standstillMs && until - since >= standstillMs,
      ) === true;
  for (const line of lines) {
    const { event, task, pid, attempt: number, at } = line;
    if (event === "killed") killed.add(pid);
    if (task === "") continue;
    const attempt = attempts.get(task);
    if (event === "begins") {
      if (attempt !== undefined && mayBeTaken(attempt, at)) taken.add(nameOf(task, attempt));
      else if (attempt !== undefined && !mayBeOver(attempt) && !killed.has(attempt.pid))
        problems.push(`${pid} began ${task} while ${attempt.pid} ran it`);
      attempts.set(task, { number, pid, at, works: new Set(), waits: new Set(), returned: false });
    } else if (attempt?.pid !== pid || attempt.number !== number) {
      if (event === "run" || !taken.has(nameOf(task, { pid, number })))
        problems.push(
          `${pid} went on with attempt ${number} of ${task} after ${attempt?.pid} had begun the next: ${event}`,
        );
    } else note(attempt, line);
  }
  return problems;
}

function nameOf(task: string, { pid, number }: Pick<Attempt, "pid" | "number">): string {
  return `${task} ${number} ${pid}`;
}

function mayBeOver({ returned, waits, works }: Attempt): boolean {
  return returned || (waits.size > 0 && works.size === 0);
}

function note(attempt: Attempt, { event, key }: LogLine): void {
  if (event === "returns") attempt.returned = true;
  else if (event === "run") attempt.works.add(key);
  else if (event === "kept" || event === "fails") attempt.works.delete(key);
  // What has failed is maybe to be tried again.
  if (event === "asks" || event === "lies down" || event === "fails") attempt.waits.add(key);
  else if (event === "saw" || event === "wakes" || event === "kept") attempt.waits.delete(key);
}
