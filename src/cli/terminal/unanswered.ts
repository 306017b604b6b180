import type { InputRequest, OnInput } from "../../client/question/ask-user.ts";

/** The user did not answer the question; it stays open for other clients. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";

  constructor() {
    super("The question stays open");
  }
}

/**
 * Leaves a question open without an answer: waits until it is withdrawn. Before there is a task, no other client can answer it, so
 * `giveUp` is called.
 */
export function keepQuestionsOpen(
  onInput: OnInput,
  giveUp: (request: InputRequest) => void = () => undefined,
): OnInput {
  return async (request) => {
    try {
      return await onInput(request);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (request.taskId === null) giveUp(request);
      return withdrawn(request.signal);
    }
  };
}

/** Rejects when the signal aborts, with its reason. */
async function withdrawn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

/** Without a user to ask, every question stays open. */
export const leaveAllOpen: OnInput = async () => {
  throw new Unanswered();
};
