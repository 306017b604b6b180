import type { Job } from "./job.ts";
import type { LogLine } from "./log.ts";

/** What the database said at a time (epoch ms): the handler of the attempt waits, until the first of its waits ends by itself. */
export interface Rest {
  readonly task: string;
  readonly attempt: number;
  readonly until: number;
  readonly at: number;
}

/** What was seen at rest, at any time. */
export class Rests {
  /** The last of each attempt: what came before it had been seen by the handler. */
  readonly #last = new Map<string, Rest>();

  add(rests: readonly Rest[]): void {
    for (const rest of rests) this.#last.set(`${rest.task} ${rest.attempt}`, rest);
  }

  /** Tasks that ran again although nothing had come for them since they were seen at rest: there must be none. */
  needlessRuns(lines: readonly LogLine[], jobs: readonly Job[]): string[] {
    const byTask = new Map(jobs.map((job) => [job.taskId, job]));
    const problems: string[] = [];
    for (const { event, task, attempt, at } of lines) {
      const rest = event === "begins" ? this.#last.get(`${task} ${attempt - 1}`) : undefined;
      if (rest === undefined || rest.until <= at) continue;
      const { tool, touches = [] } = byTask.get(task) ?? {};
      if (!touches.some(({ since, until }) => since <= at && until >= rest.at))
        problems.push(
          `${tool} ${task} began its attempt ${attempt} at ${at}, and at ${rest.at} waited until ${rest.until}`,
        );
    }
    return problems;
  }
}
