import type { UserAnswer } from "../../question/ask-user.ts";
import { unlessAborted } from "../../unless-aborted.ts";
import { Recent } from "../recent.ts";

/** How many answers are kept, for questions that are asked again. */
const mostSaid = 100;

interface Asking {
  readonly answer: Promise<UserAnswer>;
  readonly drop: AbortController;
  /** Tasks that wait for the answer. */
  waiting: number;
}

/**
 * Questions that have names, and are put to the user once. A server asks again where it may have lost the answer, and
 * where ids are its own it does so as another task: that has the answer of the first.
 */
export class NamedAskings {
  readonly #open = new Map<string, Asking>();
  readonly #said = new Recent<UserAnswer>(mostSaid);

  /** What was said to that name, or is said now to `ask`, which goes on as long as somebody waits for it. */
  async answer(
    name: string,
    ask: (signal: AbortSignal) => Promise<UserAnswer>,
    signal: AbortSignal,
  ): Promise<UserAnswer> {
    const said = this.#said.get(name);
    if (said !== undefined) return said;
    const asking = this.#open.get(name) ?? begin(ask);
    this.#open.set(name, asking);
    asking.waiting += 1;
    try {
      const answer = await unlessAborted(asking.answer, signal);
      if (answer.kind === "answer") this.#said.set(name, answer);
      return answer;
    } finally {
      asking.waiting -= 1;
      if (asking.waiting === 0) {
        if (this.#open.get(name) === asking) this.#open.delete(name);
        asking.drop.abort(signal.reason);
      }
    }
  }
}

function begin(ask: (signal: AbortSignal) => Promise<UserAnswer>): Asking {
  const drop = new AbortController();
  const answer = ask(drop.signal);
  answer.catch(() => undefined); // those who wait hear of it
  return { answer, drop, waiting: 0 };
}
