import type { JournalKey } from "../../task/journal.ts";

/** Keys of this form are ours, for questions that a handler asked without a key. */
const form = /^ctx\.\w+ \d+(?: |$)/;

/**
 * The keys of questions that a handler asks through the SDK, without keys: the n-th call of a function has the same key in each attempt.
 * Keys are assigned when the function is called, so that concurrent calls keep their order.
 */
export class AutomaticKeys {
  readonly #counts = new Map<string, number>();

  next(call: string): JournalKey {
    const place = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, place);
    return `ctx.${call} ${place}`;
  }
}

/** The key of a question that a round of `inputRequired` asks under a name of the author's. */
export function roundKey(round: number, name: string): JournalKey {
  return `ctx.inputRequired ${round} ${name}`;
}

/** Whether a journal has such a question under the key. */
export function isAutomatic(key: string): boolean {
  return form.test(key);
}
