import { AsyncLocalStorage } from "node:async_hooks";
import type { OnError } from "../faults.ts";

interface Serving {
  readonly errors: Error[];
  /** The response has been made: later errors are always reported. */
  over: boolean;
}

const serving = new AsyncLocalStorage<Serving>();

/**
 * Reports the faults among the errors that the SDK emits while it serves requests. It emits refusals, which clients see, in the same way.
 * Faults are the errors of a request answered with 500 or above, and those outside of a request.
 */
export class FaultsInServing {
  readonly #onError: OnError;
  readonly #reported = new WeakSet<object>();

  constructor(onError: OnError) {
    this.#onError = onError;
  }

  /** Receives every error that the SDK emits. */
  readonly onSdkError = (error: Error): void => {
    const current = serving.getStore();
    if (current === undefined || current.over) this.#report(error);
    else current.errors.push(error);
  };

  /** What `work` rejects with is reported elsewhere. */
  async reportedElsewhere<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof Error) this.#reported.add(error);
      throw error;
    }
  }

  /** Serves one request. */
  async during(serve: () => Promise<Response>): Promise<Response> {
    const current: Serving = { errors: [], over: false };
    const response = await serving.run(current, serve);
    current.over = true;
    if (response.status >= 500) for (const error of current.errors) this.#report(error);
    return response;
  }

  #report(error: Error): void {
    if (!this.#reported.has(error)) this.#onError(error);
  }
}
