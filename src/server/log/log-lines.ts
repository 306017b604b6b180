import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";

/** A line of a task's log, with its number. */
export interface LogLine extends LogText {
  readonly seq: number;
}

/** Maximum number of lines read at once; if there are more, the newest ones. */
const mostLines = 1_000;

/** The lines with numbers above `after` that this state of the task counts, and that are kept; none of a task that is gone. */
export async function logLines(
  runtime: Pick<Runtime, "lines">,
  { id, logged }: TaskRecord,
  requestor: Requestor,
  after: number,
): Promise<readonly LogLine[]> {
  if (after >= logged) return [];
  const page = { list: "log", after: Math.max(after, logged - mostLines), limit: mostLines } as const;
  try {
    const lines = await runtime.lines(id, requestor, page);
    return lines
      .filter(({ seq }) => seq <= logged) // those after it belong to the next state
      .map(({ seq, body }) => ({ ...(JSON.parse(body) as LogText), seq }));
  } catch (error) {
    if (isUnknownTask(error)) return [];
    throw error;
  }
}
