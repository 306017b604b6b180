import assert from "node:assert/strict";
import type { ClientEvent } from "../client/client-events.ts";
import type { InputRequest, InputResult } from "../client/question/ask-user.ts";
import { judgeAnswers } from "../runtime/questions/questions.ts";
import { childInputOf } from "../task/journal.ts";

/** A question of a task, as its client got it. */
export interface TestQuestion {
  /** The key that the handler gave it. */
  readonly key: string;
  readonly method: InputRequest["method"];
  readonly params: Readonly<Record<string, unknown>>;
}

/** An answer, or a function that makes one from the params of the question. */
export type TestAnswer =
  InputResult | ((params: TestQuestion["params"]) => InputResult | Promise<InputResult>);

interface OpenQuestion extends TestQuestion {
  /** Its name on the wire. For a question of a task that the handler called, this includes that task's name. */
  readonly wireKey: string;
  /** The client's name for the task. */
  readonly taskId: string | null;
  readonly answer: (result: InputResult) => void;
  /** Why an answer given ahead was refused. The question is open still. */
  refusal?: string;
}

/** The questions that a test's client was asked, and how the test answers them. */
export class TestQuestions {
  readonly #ahead = new Map<string, TestAnswer>();
  readonly #open = new Set<OpenQuestion>();
  readonly #asked = new Set<() => void>();
  readonly #listeners = new Set<(event: ClientEvent) => void>();
  readonly #isOpenInStore: (taskId: string | null, wireKey: string) => boolean;
  readonly #maxBytes: number;

  /** `maxBytes`: the largest answer that the server takes. */
  constructor(maxBytes: number, isOpenInStore: (taskId: string | null, wireKey: string) => boolean) {
    this.#maxBytes = maxBytes;
    this.#isOpenInStore = isOpenInStore;
  }

  /** Answers questions with these keys from now on, including open ones. */
  answerAhead(answers: Readonly<Record<string, TestAnswer>>): void {
    for (const [key, answer] of Object.entries(answers)) {
      this.#ahead.set(key, answer);
      for (const question of this.#open) {
        if (question.key === key) void this.#tryAhead(question, answer);
      }
    }
  }

  /** Whether questions of this key, of whatever task, are about to be answered. */
  isAnsweredAhead(key: string): boolean {
    return (
      this.#ahead.has(key) && ![...this.#open].some((open) => open.key === key && open.refusal !== undefined)
    );
  }

  /** Why an answer given ahead to a question of this task was refused. */
  refusal(taskId: string | null): string | undefined {
    return [...this.#open].find((open) => open.taskId === taskId && open.refusal !== undefined)?.refusal;
  }

  readonly onInput = async (request: InputRequest): Promise<InputResult> => {
    const { key: wireKey, method, params, taskId, signal } = request;
    const key = childInputOf(wireKey)?.key ?? wireKey;
    const { promise, resolve } = Promise.withResolvers<InputResult>();
    const question: OpenQuestion = { key, wireKey, method, params, taskId, answer: resolve };
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined && (await this.#tryAhead(question, ahead))) return promise;
    this.#open.add(question);
    signal.addEventListener("abort", () => this.#open.delete(question), { once: true });
    for (const asked of this.#asked) asked();
    try {
      return await promise;
    } finally {
      this.#open.delete(question);
    }
  };

  readonly onEvent = (event: ClientEvent): void => {
    for (const listener of this.#listeners) listener(event);
  };

  /** The keys of open questions of a task, or of a call without a task yet. */
  open(taskId: string | null): readonly string[] {
    return [...this.#open].filter((question) => question.taskId === taskId).map(({ key }) => key);
  }

  /** Resolves with the question when the client gets it. */
  async asked(taskId: string, key: string): Promise<OpenQuestion> {
    for (;;) {
      const found = [...this.#open].find((question) => question.taskId === taskId && question.key === key);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const asked = (): void => {
          this.#asked.delete(asked);
          resolve();
        };
        this.#asked.add(asked);
      });
    }
  }

  /** Resolves when the server has the answer to the question. Rejects with why it would refuse the answer, which then is not sent. */
  async answer(question: OpenQuestion, result: InputResult): Promise<void> {
    const { key, wireKey, taskId } = question;
    const refused = this.#refusalOf(question, result);
    if (refused !== undefined) assert.fail(`${refused} The question is still open: answer it again.`);
    const problem = new Promise<string | undefined>((resolve) => {
      const listener = (event: ClientEvent): void => {
        if (!("taskId" in event) || event.taskId !== taskId) return;
        const found = "key" in event && event.key === wireKey ? problems[event.type] : undefined;
        if (found === undefined && this.#isOpenInStore(taskId, wireKey)) return;
        this.#listeners.delete(listener);
        resolve(found);
      };
      this.#listeners.add(listener);
    });
    question.answer(result);
    const found = await problem;
    if (found !== undefined) assert.fail(`The answer to "${key}" was not accepted: ${found}.`);
  }

  /** Answers the question, unless the server would refuse that. */
  async #tryAhead(question: OpenQuestion, answer: TestAnswer): Promise<boolean> {
    const result = await (typeof answer === "function" ? answer(question.params) : answer);
    const refused = this.#refusalOf(question, result);
    if (refused === undefined) question.answer(result);
    else question.refusal = `${refused} It was given with t.answers.`;
    return refused === undefined;
  }

  /** Why the server would refuse this answer: a client cannot answer again after a refusal, but a test can. */
  #refusalOf({ key, method, params }: TestQuestion, result: InputResult): string | undefined {
    const asked = { key, method, params: JSON.stringify(params) };
    try {
      judgeAnswers([asked], [{ key, value: JSON.stringify(result) }], this.#maxBytes);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

const problems: Readonly<Partial<Record<ClientEvent["type"], string>>> = {
  answer_refused: "the server refused it",
  question_withdrawn: "the question is no longer open",
  question_unanswered: "it is not a result for this kind of question",
};
