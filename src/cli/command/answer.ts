import type { RemoteTask } from "../../client/task/remote-task.ts";
import { readJsonArgument } from "../arguments/read-json-argument.ts";
import { readPairs } from "../arguments/read-pairs.ts";
import type { Context, TaskOptions } from "../context.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../exit-code.ts";
import { taskJson } from "../output/task-json.ts";
import { Stopped, UsageError } from "../errors.ts";
import { QuestionAnswerer, type GivenAnswer } from "./answer-questions.ts";
import { withTask, type TaskSession } from "./with-task.ts";

export interface AnswerOptions extends TaskOptions {
  readonly args?: string;
  readonly accept?: true;
  readonly decline?: true;
  readonly cancelQuestion?: true;
  /** The key of the question, if several are open. */
  readonly question?: string;
}

interface AnswerCommand {
  readonly id: string;
  readonly pairs: readonly string[];
  readonly options: AnswerOptions;
}

/**
 * `holdfast answer ID [key=value …]`: answers the task's question, with the given values or by asking on the
 * terminal.
 */
export async function answer(context: Context, { id, pairs, options }: AnswerCommand): Promise<ExitCode> {
  const { output } = context;
  const answerer = new QuestionAnswerer(await readGiven(context, pairs, options));
  return withTask(context, { id, options, onInput: answerer.onInput }, async (session) => {
    const { handle, signal, terminal, origin, shown } = session;
    const before = await handle.get({ signal });
    terminal.display.about(shown.tool ?? before.tool);
    answerer.choose(before, session, options.question);
    const after = await Promise.race([answerer.allLeftOpen, untilAnswered(answerer, session)]);
    session.saw(handle.reference, after);
    terminal.display.end();
    if (!answerer.hasDecided)
      throw new UsageError(
        `The question was closed before your answer was sent. The task is ${after.status}.`,
      );
    if (output.json) await output.printJson(taskJson(after, origin));
    else
      await output.print(`${answerer.hasAnswered ? "answered" : "left open"}; the task is ${after.status}\n`);
    if (!output.json) output.note(`Wait for it with:\n  ${shown.watchCommand}`);
    return exitCodes.done;
  });
}

async function readGiven(
  { io }: Context,
  pairs: readonly string[],
  { args, accept, decline, cancelQuestion }: AnswerOptions,
): Promise<GivenAnswer | undefined> {
  const actions = [
    accept && ("accept" as const),
    decline && ("decline" as const),
    cancelQuestion && ("cancel" as const),
  ].filter((action) => action !== undefined);
  const hasContent = pairs.length > 0 || args !== undefined;
  if (actions.length > 1 || (hasContent && actions.length === 1 && accept !== true)) {
    throw new UsageError("Give only one of these: values, --accept, --decline, --cancel-question.");
  }
  const action = actions[0] ?? (hasContent ? "accept" : undefined);
  if (action === undefined) return undefined;
  return { action, pairs: await readPairs(pairs, io.cwd), given: await readJsonArgument(args, io) };
}

/** Follows the task until all chosen questions are answered. */
async function untilAnswered(
  answerer: QuestionAnswerer,
  { handle, signal, terminal, shown }: TaskSession,
): Promise<RemoteTask> {
  try {
    for await (const task of handle.updates({ signal })) {
      terminal.display.update(task);
      if (answerer.isDone(task)) return task;
    }
  } catch (error) {
    if (error !== signal.reason) throw error;
    const code = terminal.interrupts.signal.aborted
      ? interruptedBy(terminal.interrupts)
      : exitCodes.unfinished;
    throw new Stopped(code, "Gave up before the server accepted the answer", { taskId: shown.taskId });
  }
  throw new Error("The server stopped reporting on the task before it ended");
}
