import { AsyncLocalStorage } from "node:async_hooks";
import type { OnError } from "../faults.ts";

interface Serving {
  readonly errors: Error[];
  /** The response is there: what still fails is nobody's to tell. */
  over: boolean;
}

const serving = new AsyncLocalStorage<Serving>();

/**
 * What the SDK says of errors while it serves requests. It speaks of refusals, which their clients are told about, in the same way as of
 * faults, which nobody would hear of: those of a request that is answered with 500, and those of none.
 */
export class FaultsInServing {
  readonly #onError: OnError;
  readonly #reported = new WeakSet<object>();

  constructor(onError: OnError) {
    this.#onError = onError;
  }

  /** To be told of every error. */
  readonly heard = (error: Error): void => {
    const current = serving.getStore();
    if (current === undefined || current.over) this.#report(error);
    else current.errors.push(error);
  };

  /** Somebody else has reported what `work` rejects with. */
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
