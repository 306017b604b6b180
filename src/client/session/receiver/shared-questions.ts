import type { UserAnswer } from "../../question/ask-user.ts";
import { unlessAborted } from "../../unless-aborted.ts";
import { BoundedMap } from "../bounded-map.ts";

/** How many answers are kept for repeated questions. */
const maxAnswers = 100;

interface SharedQuestion {
  readonly answer: Promise<UserAnswer>;
  readonly cancel: AbortController;
  /** How many tasks wait for the answer. */
  waiting: number;
}

/**
 * Questions with keys, which the user is asked once. A server that may have lost an answer repeats its question, in
 * SEP-1686 as another task; all tasks with the same key share one answer.
 */
export class SharedQuestions {
  readonly #open = new Map<string, SharedQuestion>();
  readonly #answers = new BoundedMap<UserAnswer>(maxAnswers);

  /**
   * The answer to the question of that name: the known one, or that of `ask`, which is aborted when no task waits
   * for it any more.
   */
  async answer(
    name: string,
    ask: (signal: AbortSignal) => Promise<UserAnswer>,
    signal: AbortSignal,
  ): Promise<UserAnswer> {
    const known = this.#answers.get(name);
    if (known !== undefined) return known;
    const question = this.#open.get(name) ?? begin(ask);
    this.#open.set(name, question);
    question.waiting += 1;
    try {
      const answer = await unlessAborted(question.answer, signal);
      if (answer.kind === "answer") this.#answers.set(name, answer);
      return answer;
    } finally {
      question.waiting -= 1;
      if (question.waiting === 0) {
        if (this.#open.get(name) === question) this.#open.delete(name);
        question.cancel.abort(signal.reason);
      }
    }
  }
}

function begin(ask: (signal: AbortSignal) => Promise<UserAnswer>): SharedQuestion {
  const cancel = new AbortController();
  const answer = ask(cancel.signal);
  answer.catch(() => undefined); // each waiting task gets the rejection
  return { answer, cancel, waiting: 0 };
}
