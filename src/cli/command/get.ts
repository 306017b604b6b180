import type { RemoteTask } from "../../client/task/remote-task.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import type { Context, TaskOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { taskJson, type TaskOrigin } from "../output/task-json.ts";
import { describeQuestion } from "./describe-question.ts";
import { withTask } from "./with-task.ts";

/** `holdfast get ID`: prints the task's current state. */
export async function get(
  context: Context,
  command: { readonly id: string; readonly options: TaskOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, command, async ({ handle, origin, terminal, signal, saw }) => {
    const task = await handle.get({ signal });
    saw(handle.reference, task);
    terminal.display.end();
    if (output.json) await output.printJson(taskJson(task, origin));
    else await output.print(lines(task, origin));
    return exitCodes.done;
  });
}

function lines(task: RemoteTask, { server, tool = task.tool }: TaskOrigin): string {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = task;
  const questions = task.status === "input_required" ? Object.entries(task.inputRequests) : [];
  const all: readonly (readonly [string, string | undefined])[] = [
    ["id", taskId],
    ["server", server],
    ["tool", tool],
    ["status", statusMessage === undefined ? status : `${status}: ${statusMessage}`],
    ["created", createdAt],
    ["updated", lastUpdatedAt],
    ["kept until", ttlMs === null ? "no limit" : endOf(createdAt, ttlMs)],
    ...questions.map(([key, question]) => ["question", describeQuestion(key, question)] as const),
    ["error", task.status === "failed" ? describeRpcError(task.error) : undefined],
  ];
  return all.map(([name, text]) => (text === undefined ? "" : `${name.padEnd(11)} ${text}\n`)).join("");
}

function endOf(createdAt: string, ttlMs: number): string | undefined {
  const end = Date.parse(createdAt) + ttlMs;
  return Math.abs(end) <= 8.64e15 ? new Date(end).toISOString() : undefined;
}
