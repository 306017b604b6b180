import type { InputRequest, InputResult } from "../../src/client/question/ask-user.ts";

/** Answers when the test says so. */
export class User {
  readonly asked: InputRequest[] = [];
  readonly #answers: PromiseWithResolvers<InputResult>[] = [];
  readonly #arrivals: (() => void)[] = [];

  readonly onInput = async (request: InputRequest): Promise<InputResult> => {
    this.asked.push(request);
    const answer = Promise.withResolvers<InputResult>();
    this.#answers.push(answer);
    for (const arrive of this.#arrivals.splice(0)) arrive();
    return answer.promise;
  };

  async isAsked(times: number): Promise<void> {
    while (this.asked.length < times) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
  }

  answer(index: number, result: InputResult): void {
    this.#answers[index]?.resolve(result);
  }

  fail(index: number): void {
    this.#answers[index]?.reject(new Error("no model"));
  }
}
