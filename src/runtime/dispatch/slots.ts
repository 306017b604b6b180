/**
 * Bounds how many handlers run at once. A handler that waits for a client gives its slot back at once, else as
 * many questions as slots would stop everything; on its answer it comes before tasks that have not begun.
 */
export class Slots {
  readonly #limit: number;
  readonly #resuming: (() => void)[] = [];
  #used = 0;
  #onFree: () => void = () => undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Called whenever a slot may have come free and no resuming handler took it. */
  onFree(listener: () => void): void {
    this.#onFree = listener;
  }

  get hasFree(): boolean {
    return this.#used < this.#limit;
  }

  tryTake(): boolean {
    if (this.#used >= this.#limit) return false;
    this.#used++;
    return true;
  }

  /** Resolves when a handler that waited may go on. */
  takeToResume(): Promise<void> {
    if (this.tryTake()) return Promise.resolve();
    return new Promise((resolve) => this.#resuming.push(resolve));
  }

  give(): void {
    const next = this.#resuming.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#used--;
    this.#onFree();
  }
}
