import type { InputRequest, InputResult } from "../../client/question/input-request.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import { LeftOpen, leavingOpen } from "../terminal/left-open.ts";
import { UsageError } from "../usage-error.ts";
import { describeQuestion } from "./describe-question.ts";
import { answerTo, type GivenAnswer } from "./given-answer.ts";
import type { TaskSession } from "./with-task.ts";

/** Answers the one question that is meant, or all that are open where a person can be asked. */
export class Asker {
  /**
   * Resolves when the person has left open all that is still asked. Rejects where the answer does not fit the question:
   * it must not be sent, nor count as one.
   */
  readonly given: Promise<RemoteTask>;
  readonly #over = Promise.withResolvers<RemoteTask>();
  readonly #answer: GivenAnswer | undefined;
  readonly #ready = Promise.withResolvers<TaskSession>();
  readonly #answered = new Set<string>();
  readonly #left = new Set<string>();
  /** Undefined where the server tells no keys before it asks: then the first that comes is meant. */
  #key: string | undefined;
  #latest: RemoteTask | undefined;

  constructor(answer: GivenAnswer | undefined) {
    this.#answer = answer;
    this.given = this.#over.promise;
    this.given.catch(() => undefined);
  }

  readonly onInput = leavingOpen(async (request) => {
    const session = await this.#ready.promise;
    if (!this.#isMeant(request.key)) throw new LeftOpen();
    try {
      const result = await this.#resultFor(request, session);
      this.#answered.add(request.key);
      return result;
    } catch (error) {
      // A question that is gone, or a person who is, shows in the task's updates and in their signal.
      if (request.signal.aborted || session.signal.aborted) throw error;
      if (error instanceof LeftOpen) this.#leave(request.key);
      else this.#over.reject(error);
      throw new LeftOpen();
    }
  });

  /** Whether something was answered, or at least left open on purpose. */
  get hasDecided(): boolean {
    return this.hasAnswered || this.#left.size > 0;
  }

  get hasAnswered(): boolean {
    return this.#answered.size > 0;
  }

  /** Which question is meant, by how the task stands before anything is answered. */
  choose(task: RemoteTask, session: TaskSession, asked: string | undefined): void {
    if (task.status !== "input_required")
      throw new UsageError(`The task has no open question: it is ${task.status}.`);
    const open = Object.entries(task.inputRequests);
    const lines = open.map(([key, question]) => `\n  ${describeQuestion(key, question)}`).join("");
    if (asked !== undefined && open.length > 0 && !open.some(([key]) => key === asked)) {
      throw new UsageError(`The task does not ask ${JSON.stringify(asked)} now. Open:${lines}`);
    }
    const answerable = open.filter(([, { method }]) => method === "elicitation/create").map(([key]) => key);
    if (open.length > 0 && (asked === undefined ? answerable.length === 0 : !answerable.includes(asked))) {
      throw new UsageError(`A person cannot answer that question. Open:${lines}`);
    }
    if (this.#answer === undefined && !session.terminal.isInteractive) {
      throw new UsageError(
        `There is no terminal to answer on: give key=value, --accept, --decline or --cancel-question. Open:${lines}`,
      );
    }
    if (this.#answer !== undefined && asked === undefined && answerable.length > 1) {
      throw new UsageError(`Several questions are open, choose one with --question:${lines}`);
    }
    if (open.length > 0) this.#key = asked ?? (this.#answer === undefined ? undefined : answerable[0]);
    this.#latest = task;
    this.#ready.resolve(session);
  }

  /** Whether nothing is left to be answered here. */
  isDone(task: RemoteTask): boolean {
    this.#latest = task;
    if (task.status !== "input_required") return true;
    if (!this.hasDecided) return false;
    const open = Object.keys(task.inputRequests);
    const areTaken = [...this.#answered].every((key) => !open.includes(key));
    return (
      areTaken &&
      (this.#answer !== undefined || open.every((key) => !this.#isMeant(key) || this.#left.has(key)))
    );
  }

  #leave(key: string): void {
    this.#left.add(key);
    if (this.#latest !== undefined && this.isDone(this.#latest)) this.#over.resolve(this.#latest);
  }

  #isMeant(key: string): boolean {
    if (this.#key !== undefined) return key === this.#key;
    return this.#answer === undefined || !this.hasAnswered;
  }

  async #resultFor(request: InputRequest, { terminal }: TaskSession): Promise<InputResult> {
    return this.#answer === undefined ? terminal.askUser(request) : answerTo(request, this.#answer);
  }
}
