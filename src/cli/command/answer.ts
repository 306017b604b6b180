import type { InputRequest, InputResult } from "../../client/question/ask-user.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { keepQuestionsOpen, Unanswered } from "../terminal/open-terminal.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped, UsageError } from "../errors.ts";
import { describeQuestion } from "../terminal/form/question-text.ts";
import { type TaskSession, withTask } from "./task-commands.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import {
  completeArguments,
  type Pair,
  parseArguments,
  readJsonArgument,
  readPairs,
} from "../arguments/parse-arguments.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { taskJson } from "../output/json-shapes.ts";

/** Answers the chosen question of a task, or all open ones if the user can be asked. */
class QuestionAnswerer {
  /**
   * Resolves when the user has left all remaining questions open. Rejects if the given answer does not fit the
   * question; it is not sent then.
   */
  readonly allLeftOpen: Promise<RemoteTask>;
  readonly #leftAllOpen = Promise.withResolvers<RemoteTask>();
  readonly #given: GivenAnswer | undefined;
  readonly #session = Promise.withResolvers<TaskSession>();
  readonly #answered = new Set<string>();
  readonly #leftOpen = new Set<string>();
  /** Undefined if the server names no keys before it asks: the first question is then used. */
  #chosenKey: string | undefined;
  #latest: RemoteTask | undefined;

  constructor(given: GivenAnswer | undefined) {
    this.#given = given;
    this.allLeftOpen = this.#leftAllOpen.promise;
    this.allLeftOpen.catch(() => undefined);
  }

  readonly onInput = keepQuestionsOpen(async (request) => {
    const session = await this.#session.promise;
    if (!this.#isChosen(request.key)) throw new Unanswered();
    try {
      const result = await this.#resultFor(request, session);
      this.#answered.add(request.key);
      return result;
    } catch (error) {
      // The question was withdrawn or the command interrupted; other code reports that.
      if (request.signal.aborted || session.signal.aborted) throw error;
      if (error instanceof Unanswered) this.#leaveOpen(request.key);
      else this.#leftAllOpen.reject(error);
      throw new Unanswered();
    }
  });

  /** Whether a question was answered or deliberately left open. */
  get hasDecided(): boolean {
    return this.hasAnswered || this.#leftOpen.size > 0;
  }

  get hasAnswered(): boolean {
    return this.#answered.size > 0;
  }

  /** Chooses the question, by the task's state before any answer. */
  choose(task: RemoteTask, session: TaskSession, asked: string | undefined): void {
    if (task.status !== "input_required")
      throw new UsageError(`The task has no open question: it is ${task.status}.`);
    const open = Object.entries(task.inputRequests);
    const lines = open.map(([key, question]) => `\n  ${describeQuestion(key, question)}`).join("");
    if (asked !== undefined && open.length > 0 && !open.some(([key]) => key === asked)) {
      throw new UsageError(`The task has no open question ${JSON.stringify(asked)}. Open questions:${lines}`);
    }
    const answerable = open.filter(([, { method }]) => method === "elicitation/create").map(([key]) => key);
    if (open.length > 0 && (asked === undefined ? answerable.length === 0 : !answerable.includes(asked))) {
      throw new UsageError(`A person cannot answer that question. Open questions:${lines}`);
    }
    if (this.#given === undefined && !session.terminal.isInteractive) {
      throw new UsageError(
        `There is no terminal to ask you on. Answer with key=value, --accept, --decline or --cancel-question. Open questions:${lines}`,
      );
    }
    if (this.#given !== undefined && asked === undefined && answerable.length > 1) {
      throw new UsageError(`Several questions are open. Choose one with --question:${lines}`);
    }
    if (open.length > 0) this.#chosenKey = asked ?? (this.#given === undefined ? undefined : answerable[0]);
    this.#latest = task;
    this.#session.resolve(session);
  }

  /** Whether nothing is left to answer. */
  isDone(task: RemoteTask): boolean {
    this.#latest = task;
    if (task.status !== "input_required") return true;
    if (!this.hasDecided) return false;
    const open = Object.keys(task.inputRequests);
    const areTaken = [...this.#answered].every((key) => !open.includes(key));
    return (
      areTaken &&
      (this.#given !== undefined || open.every((key) => !this.#isChosen(key) || this.#leftOpen.has(key)))
    );
  }

  #leaveOpen(key: string): void {
    this.#leftOpen.add(key);
    if (this.#latest !== undefined && this.isDone(this.#latest)) this.#leftAllOpen.resolve(this.#latest);
  }

  #isChosen(key: string): boolean {
    if (this.#chosenKey !== undefined) return key === this.#chosenKey;
    return this.#given === undefined || !this.hasAnswered;
  }

  async #resultFor(request: InputRequest, { terminal }: TaskSession): Promise<InputResult> {
    return this.#given === undefined ? terminal.askUser(request) : answerFrom(request, this.#given);
  }
}

/** The answer that the command line gives. */
interface GivenAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly pairs: readonly Pair[];
  /** From `--args`. */
  readonly given: JsonObject;
}

/** The answer in the form of the question's schema. Throws a UsageError if it does not fit. */
export function answerFrom(
  { method, params }: InputRequest,
  { action, pairs, given }: GivenAnswer,
): InputResult {
  if (method !== "elicitation/create") {
    throw new UsageError(`The task asks for ${method}, which a person cannot answer.`);
  }
  if (action !== "accept") return { action };
  const schema = "requestedSchema" in params ? params.requestedSchema : undefined;
  if (!isJsonObject(schema)) {
    if (pairs.length > 0) throw new UsageError("The question asks for no values. Answer it with --accept.");
    return { action };
  }
  const form = readInputSchema(schema);
  const values = { ...defaultsOf(form.properties), ...parseArguments(pairs, form, given) };
  const content = completeArguments(values, form);
  return { action, content: content as NonNullable<Extract<InputResult, { action: string }>["content"]> };
}

/** The defaults of the question's fields, as a form on the terminal starts with. */
function defaultsOf(properties: ReadonlyMap<string, JsonObject>): JsonObject {
  const withDefault = [...properties].filter(([, schema]) => schema["default"] !== undefined);
  return Object.fromEntries(withDefault.map(([key, schema]) => [key, schema["default"]]));
}

/**
 * `holdfast answer ID [key=value …]`: answers the task's question, with the given values or by asking on the
 * terminal.
 */
export async function answer(context: Context, { id, pairs, options }: Given<"answer">): Promise<ExitCode> {
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
    return output.say({
      json: taskJson(after, origin),
      text: `${answerer.hasAnswered ? "answered" : "left open"}; the task is ${after.status}\n`,
      notes: [!hasEnded(after) && `Wait for it with:\n  ${shown.watchCommand}`],
    });
  });
}

async function readGiven(
  { io }: Context,
  pairs: readonly string[],
  { args, accept, decline, cancelQuestion }: Given<"answer">["options"],
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
