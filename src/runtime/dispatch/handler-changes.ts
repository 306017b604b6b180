import { isLost } from "../../store/lost-store.ts";
import { uniqueHandlers, type HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

export interface HandlerChangesSetup {
  readonly services: Pick<Services, "store" | "registry" | "clock" | "onError">;
  /** Called when tools have changed, since queued tasks may be for them. */
  readonly onChange: () => void;
  /** Called when the store has the current list of handlers. */
  readonly onTold: () => void;
}

/** Keeps the store's list of this process's handlers current while tools come and go. */
export class HandlerChanges {
  readonly #setup: HandlerChangesSetup;
  readonly #stopped = new AbortController();
  #unsubscribe: () => void = () => undefined;
  /** The handlers that the store knows. */
  #told: readonly HandlerName[] = [];
  #telling = false;

  constructor(setup: HandlerChangesSetup) {
    this.#setup = setup;
  }

  /** The store was opened with these. */
  start(told: readonly HandlerName[]): void {
    const { services, onChange } = this.#setup;
    this.#told = told;
    this.#unsubscribe = services.registry.onChange(() => {
      onChange();
      void this.#tell();
    });
    void this.#tell(); // of what came while it was opened
  }

  stop(): void {
    this.#unsubscribe();
    this.#stopped.abort();
  }

  async #tell(): Promise<void> {
    if (this.#telling) return;
    this.#telling = true;
    const { services, onTold } = this.#setup;
    const { store, registry, onError } = services;
    const { signal } = this.#stopped;
    try {
      for (
        let handlers = registry.handlers();
        !isSame(handlers, this.#told);
        handlers = registry.handlers()
      ) {
        await untilStoreAnswers(() => store.setHandlers(handlers), services, signal);
        this.#told = handlers;
        onTold();
      }
    } catch (error) {
      // A store that is lost is said once, and not here.
      if (!signal.aborted && !isLost(error)) onError(error);
    } finally {
      this.#telling = false;
    }
  }
}

function isSame(a: readonly HandlerName[], b: readonly HandlerName[]): boolean {
  return a.length === b.length && uniqueHandlers([...a, ...b]).length === a.length;
}
