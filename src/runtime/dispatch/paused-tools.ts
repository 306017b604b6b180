/** Tools that operators have paused: no process starts their handlers. */
export class PausedTools {
  #names: ReadonlySet<string> = new Set();
  #onResumed: () => void = () => undefined;

  /** Called when a tool may start handlers again. */
  onResumed(listener: () => void): void {
    this.#onResumed = listener;
  }

  has(tool: string): boolean {
    return this.#names.has(tool);
  }

  /** The store's latest list. */
  set(names: readonly string[]): void {
    const before = this.#names;
    this.#names = new Set(names);
    if ([...before].some((name) => !this.#names.has(name))) this.#onResumed();
  }
}
