import { isLost } from "../../store/lost-store.ts";
import { uniqueHandlers, type HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

export interface HandlerChangesSetup {
  readonly services: Pick<Services, "store" | "registry" | "clock" | "onError">;
  /** Called when tools have changed, since queued tasks may be for them. */
  readonly onChange: () => void;
  /** Called when the store has the current list of handlers. */
  readonly onStored: () => void;
}

/** Keeps the store's list of this process's handlers current while tools come and go. */
export class HandlerChanges {
  readonly #setup: HandlerChangesSetup;
  readonly #stopped = new AbortController();
  #unsubscribe: () => void = () => undefined;
  /** The handlers that the store knows. */
  #stored: readonly HandlerName[] = [];
  #isStoring = false;
  /** Whether others are to leave it the tasks of its tools. */
  #serves = true;

  constructor(setup: HandlerChangesSetup) {
    this.#setup = setup;
  }

  /** The store was opened with these. */
  start(stored: readonly HandlerName[]): void {
    const { services, onChange } = this.#setup;
    this.#stored = stored;
    this.#unsubscribe = services.registry.onChange(() => {
      onChange();
      void this.#store();
    });
    void this.#store(); // of what came while it was opened
  }

  /** Others take what is queued for this process while it does not serve. */
  serve(serves: boolean): void {
    this.#serves = serves;
    void this.#store();
  }

  stop(): void {
    this.#unsubscribe();
    this.#stopped.abort();
  }

  /** Requests other than calls are only answered here. */
  #handlers(): readonly HandlerName[] {
    return this.#setup.services.registry.handlers(this.#serves ? ["work"] : []);
  }

  async #store(): Promise<void> {
    if (this.#isStoring) return;
    this.#isStoring = true;
    const { services, onStored } = this.#setup;
    const { store, onError } = services;
    const { signal } = this.#stopped;
    try {
      for (let handlers = this.#handlers(); !isSame(handlers, this.#stored); handlers = this.#handlers()) {
        await untilStoreAnswers(() => store.setHandlers(handlers), services, signal);
        this.#stored = handlers;
        onStored();
      }
    } catch (error) {
      // A lost store is reported once, elsewhere.
      if (!signal.aborted && !isLost(error)) onError(error);
    } finally {
      this.#isStoring = false;
    }
  }
}

function isSame(a: readonly HandlerName[], b: readonly HandlerName[]): boolean {
  return a.length === b.length && uniqueHandlers([...a, ...b]).length === a.length;
}
