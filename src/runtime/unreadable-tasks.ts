/** Reports each task whose record cannot be read once, whoever meets it. */
export class UnreadableTasks {
  readonly #reported = new Set<string>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  report(id: string, error: unknown): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#onError(error);
  }
}
