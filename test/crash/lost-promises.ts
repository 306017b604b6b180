import { asksWithoutLimit, type Job } from "./job.ts";

/** What a database has of a task. */
export interface TaskRow {
  readonly state: string;
  readonly cancelAsked: boolean;
}

/** What clients were told, and the database does not have, by what it has of tasks and of answers to them. */
export function lostPromises(
  jobs: readonly Job[],
  tasks: ReadonlyMap<string, TaskRow>,
  answers: ReadonlyMap<string, string>,
): string[] {
  return jobs.filter(({ taskId }) => taskId !== undefined).flatMap((job) => lostOf(job, tasks, answers));
}

/** What a client was told about its job, and the database does not have. */
function lostOf(
  { taskId = "", tool, answer, cancelAcknowledged, ended, core }: Job,
  tasks: ReadonlyMap<string, TaskRow>,
  answers: ReadonlyMap<string, string>,
): string[] {
  const row = tasks.get(taskId);
  if (row === undefined) return [`task ${taskId} is lost`];
  const isOver = row.state === "settled" || row.state === "cancelled";
  const lost: string[] = [];
  if (ended !== undefined && !isOver) lost.push(`the end of ${taskId} is lost`);
  if (cancelAcknowledged === true && !row.cancelAsked && !isOver)
    lost.push(`the cancel of ${taskId} is lost`);
  if (core && cancelAcknowledged === true && row.state !== "cancelled")
    lost.push(`${taskId} was cancelled and is ${row.state}`);
  // Elsewhere an answer can come too late to count.
  const counts = asksWithoutLimit.has(tool) && answer !== undefined && !isOver;
  if (counts && answers.get(taskId)?.includes(answer) !== true) lost.push(`the answer to ${taskId} is lost`);
  return lost;
}
