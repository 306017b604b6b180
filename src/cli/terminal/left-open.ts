import type { InputRequest, OnInput } from "../../client/question/input-request.ts";

/** A question that was not answered, and is to stay open: a task's for others. */
export class LeftOpen extends Error {
  override readonly name = "LeftOpen";

  constructor() {
    super("The question stays open");
  }
}

/**
 * Keeps a question that is left open from being answered at all, for as long as anybody waits for the task. One that comes
 * before there is a task can be answered by nobody else: `giveUp` is told of it.
 */
export function leavingOpen(
  onInput: OnInput,
  giveUp: (request: InputRequest) => void = () => undefined,
): OnInput {
  return async (request) => {
    try {
      return await onInput(request);
    } catch (error) {
      if (!(error instanceof LeftOpen)) throw error;
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
