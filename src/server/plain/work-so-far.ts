import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";

/** Maximum that a model is shown of a running task: the newest. */
const most = { logLines: 5, lineCharacters: 500, outputBlocks: 20, outputCharacters: 16_384 };

/** What a task has to show before its result. */
export interface WorkSoFar {
  /** The last lines of its log, as text. */
  readonly log: readonly string[];
  /** The newest content blocks of its output. */
  readonly output: readonly JsonObject[];
  /** How many blocks its output has. */
  readonly outputs: number;
}

/** Reads nothing of a task that has appended nothing. */
export async function workSoFar(runtime: Runtime, task: TaskRecord): Promise<WorkSoFar> {
  const [log, output] = await Promise.all([
    newest(runtime, task, { list: "log", count: task.logged, limit: most.logLines }),
    newest(runtime, task, { list: "output", count: task.outputs, limit: most.outputBlocks }),
  ]);
  return { log: log.map(lineText), output: fitting(output).map(parsed), outputs: task.outputs };
}

interface Wanted {
  readonly list: LineList;
  /** How many lines the list has had. */
  readonly count: number;
  readonly limit: number;
}

async function newest(
  runtime: Runtime,
  task: TaskRecord,
  { list, count, limit }: Wanted,
): Promise<readonly TaskLine[]> {
  if (count === 0) return [];
  try {
    return await runtime.lines(task.id, task, { list, after: Math.max(0, count - limit), limit });
  } catch (error) {
    if (isUnknownTask(error)) return []; // it has just been deleted, as its caller hears the next time
    throw error;
  }
}

function lineText({ body }: TaskLine): string {
  const { level, text } = parsed({ body });
  const line = `${String(level)}: ${String(text)}`.replaceAll(/\s+/g, " ");
  return line.length <= most.lineCharacters ? line : `${line.slice(0, most.lineCharacters).toWellFormed()}…`;
}

/** The last ones that are not too long together. */
function fitting(lines: readonly TaskLine[]): readonly TaskLine[] {
  let characters = 0;
  const tooMuch = lines.findLastIndex(({ body }) => (characters += body.length) > most.outputCharacters);
  return lines.slice(tooMuch + 1);
}

function parsed({ body }: Pick<TaskLine, "body">): JsonObject {
  const value: unknown = JSON.parse(body);
  return isJsonObject(value) ? value : {};
}
