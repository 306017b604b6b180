import type { Admin } from "../../../src/admin/operations.ts";

/** The ids of changed tasks; null: any may have changed. */
export type Changed = readonly string[] | null;

/** Reports changes of tasks while the page is visible. */
export class ChangeFeed {
  readonly #admin: Pick<Admin, "changes">;
  readonly #listeners = new Set<(changed: Changed) => void>();
  readonly #watchers = new Set<(isLive: boolean) => void>();
  #reading: AbortController | undefined;
  #isLive = false;

  constructor(admin: Pick<Admin, "changes">) {
    this.#admin = admin;
    document.addEventListener("visibilitychange", () => this.#follow());
    this.#follow();
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** The server did not answer. The next change shows that it does again. */
  away(): void {
    this.#setLive(false);
  }

  onChange(listener: (changed: Changed) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onLive(watcher: (isLive: boolean) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #follow(): void {
    if (document.hidden) {
      this.#reading?.abort();
      this.#reading = undefined;
    } else if (this.#reading === undefined) {
      this.#reading = new AbortController();
      void this.#read(this.#reading.signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      for await (const { tasks } of this.#admin.changes({ signal })) {
        this.#setLive(true);
        for (const listener of this.#listeners) listener(tasks);
      }
    } catch {
      // Hidden, or no longer authorized, which the next request shows.
    }
    this.#setLive(false);
  }

  #setLive(isLive: boolean): void {
    if (isLive === this.#isLive) return;
    this.#isLive = isLive;
    for (const watcher of this.#watchers) watcher(isLive);
  }
}
