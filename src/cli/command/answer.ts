import type { InputRequest, InputResult, OnInput } from "../../client/question/input-request.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { readJsonArgument } from "../arguments/read-json-argument.ts";
import type { Context, TaskOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { taskJson } from "../output/task-json.ts";
import { Stopped } from "../stopped.ts";
import { nobodyToAsk } from "../terminal/nobody-to-ask.ts";
import { UsageError } from "../usage-error.ts";
import { describeQuestion } from "./describe-question.ts";
import { answerTo, type GivenAnswer } from "./given-answer.ts";
import { withTask, type TaskSession } from "./with-task.ts";

export interface AnswerOptions extends TaskOptions {
  readonly args?: string;
  readonly accept?: true;
  readonly decline?: true;
  readonly cancelQuestion?: true;
  /** The key of the question, where several are open. */
  readonly question?: string;
}

interface AnswerCommand {
  readonly id: string;
  readonly pairs: readonly string[];
  readonly options: AnswerOptions;
}

/** `holdfast answer ID [key=value …]`: answers what the task asks, by what is given or by asking on the terminal. */
export async function answer(context: Context, { id, pairs, options }: AnswerCommand): Promise<ExitCode> {
  const { output } = context;
  const asker = new Asker(await readGiven(context, pairs, options));
  return withTask(context, { id, options, onInput: asker.onInput }, async (session) => {
    const { handle, signal, terminal, origin, shown } = session;
    const before = await handle.get({ signal });
    asker.choose(before, session, options.question);
    const after = await Promise.race([asker.problem, untilAnswered(asker, session)]);
    terminal.display.end();
    if (output.json) await output.printJson(taskJson(after, origin));
    else await output.print(`answered; the task is ${after.status}\n`);
    if (!output.json) output.tell(`See it through with: ${shown.comeBack}`);
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
    throw new UsageError("Give either values, or --accept, or --decline, or --cancel-question.");
  }
  const action = actions[0] ?? (hasContent ? "accept" : undefined);
  return action === undefined ? undefined : { action, pairs, given: await readJsonArgument(args, io) };
}

/** Follows the task until what was answered is no longer asked. */
async function untilAnswered(
  asker: Asker,
  { handle, signal, terminal, shown }: TaskSession,
): Promise<RemoteTask> {
  try {
    for await (const task of handle.updates({ signal })) {
      terminal.display.update(task);
      if (hasEnded(task) || asker.isDone(task)) return task;
    }
  } catch (error) {
    if (error !== signal.reason) throw error;
    const code = terminal.interrupts.signal.aborted ? exitCodes.interrupted : exitCodes.unfinished;
    throw new Stopped(code, "Gave up before the server took the answer", { taskId: shown.taskId });
  }
  throw new Error("The task's updates ended without an end");
}

/** Answers the one question that is meant, or all that are open where a person can be asked. */
class Asker {
  /** Rejects where the answer does not fit the question: it must not be sent, nor count as one. */
  readonly problem: Promise<never>;
  readonly #reject: (error: unknown) => void;
  readonly #given: GivenAnswer | undefined;
  readonly #ready = Promise.withResolvers<TaskSession>();
  readonly #answered = new Set<string>();
  /** Undefined where the server tells no keys before it asks: then the first that comes is meant. */
  #key: string | undefined;

  constructor(given: GivenAnswer | undefined) {
    this.#given = given;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.problem = promise;
    this.#reject = reject;
  }

  readonly onInput: OnInput = async (request) => {
    const session = await this.#ready.promise;
    try {
      const result = await this.#answer(request, session);
      if (result === undefined) return await nobodyToAsk(request);
      this.#answered.add(request.key);
      return result;
    } catch (error) {
      this.#reject(error);
      return nobodyToAsk(request);
    }
  };

  /** Which question is meant, by how the task stands before anything is answered. */
  choose(task: RemoteTask, session: TaskSession, asked: string | undefined): void {
    if (task.status !== "input_required")
      throw new UsageError(`The task asks nothing now: it is ${task.status}.`);
    const open = Object.entries(task.inputRequests);
    const lines = open.map(([key, question]) => `\n  ${describeQuestion(key, question)}`).join("");
    if (asked !== undefined && open.length > 0 && !open.some(([key]) => key === asked)) {
      throw new UsageError(`The task does not ask ${JSON.stringify(asked)} now. Open:${lines}`);
    }
    if (this.#given === undefined && !session.terminal.isInteractive) {
      throw new UsageError(
        `There is no terminal to ask on: give key=value, --accept, --decline or --cancel-question. Open:${lines}`,
      );
    }
    if (this.#given !== undefined && asked === undefined && open.length > 1) {
      throw new UsageError(`Several questions are open, choose one with --question:${lines}`);
    }
    if (open.length > 0) this.#key = asked ?? (this.#given === undefined ? undefined : open[0]?.[0]);
    this.#ready.resolve(session);
  }

  isDone(task: RemoteTask): boolean {
    if (this.#answered.size === 0) return false;
    if (task.status !== "input_required") return true;
    return (
      [...this.#answered].every((key) => !Object.hasOwn(task.inputRequests, key)) &&
      (this.#given !== undefined || Object.keys(task.inputRequests).length === 0)
    );
  }

  /** Undefined for a question that is not meant. */
  async #answer(request: InputRequest, { terminal }: TaskSession): Promise<InputResult | undefined> {
    if (this.#key !== undefined && request.key !== this.#key) return undefined;
    if (this.#given === undefined) return terminal.askUser(request);
    if (this.#answered.size > 0) return undefined;
    return answerTo(request, this.#given);
  }
}
