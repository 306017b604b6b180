/** By then, transactions that had a task locked have committed (ms). */
const pauseMs = 20;

/** Tasks that could not be claimed because others had them locked: those usually claim them, but some may be left. */
export class LookAgain {
  readonly #look: (ids: readonly string[]) => void;
  #ids: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(look: (ids: readonly string[]) => void) {
    this.#look = look;
  }

  add(ids: readonly string[]): void {
    this.#ids.push(...ids);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look(this.#ids.splice(0));
    }, pauseMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
