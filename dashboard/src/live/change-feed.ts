import type { Admin } from "../../../src/admin/operations.ts";

/** The ids of changed tasks; null: any may have changed. */
export type Changed = readonly string[] | null;

/** What windows tell each other. */
type Message =
  | { readonly does: "change"; readonly tasks: Changed }
  | { readonly does: "live"; readonly isLive: boolean }
  /** Asks the window that reads whether it is live. */
  | { readonly does: "ask" };

/**
 * Reports changes of tasks while the page is visible. Browsers open few connections to a server, so one of the visible windows reads the
 * stream for all: the one that holds a lock. When it is closed or hidden, the lock goes to the next one. Without locks, which browsers have
 * in secure contexts alone, each window reads.
 */
export class ChangeFeed {
  readonly #admin: Pick<Admin, "changes">;
  readonly #listeners = new Set<(changed: Changed) => void>();
  readonly #watchers = new Set<(isLive: boolean) => void>();
  readonly #name: string;
  readonly #locks: LockManager | undefined;
  readonly #windows: BroadcastChannel;
  #following: AbortController | undefined;
  #isReading = false;
  #isLive = false;

  constructor(admin: Pick<Admin, "changes">, base: string) {
    this.#admin = admin;
    this.#name = `holdfast changes ${base}`;
    this.#locks = (navigator as { readonly locks?: LockManager }).locks;
    this.#windows = new BroadcastChannel(this.#name);
    this.#windows.addEventListener("message", ({ data }: MessageEvent<Message>) => this.#hear(data));
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
      this.#following?.abort();
      this.#following = undefined;
      if (!this.#isReading) this.#setLive(false);
    } else if (this.#following === undefined) {
      this.#following = new AbortController();
      const { signal } = this.#following;
      if (this.#locks === undefined) void this.#read(signal);
      else {
        const read = (): Promise<void> => this.#read(signal);
        this.#locks.request(this.#name, { signal }, read).catch(() => undefined); // it was hidden before its turn
        this.#tell({ does: "ask" });
        this.#changed(null); // while it was hidden, any may have changed
      }
    }
  }

  #hear(message: Message): void {
    if (message.does === "ask") {
      if (this.#isReading) this.#tell({ does: "live", isLive: this.#isLive });
    } else if (this.#following !== undefined && !this.#isReading) {
      this.#setLive(message.does === "change" || message.isLive);
      if (message.does === "change") this.#changed(message.tasks);
    }
  }

  #tell(message: Message): void {
    if (this.#locks !== undefined) this.#windows.postMessage(message);
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#isReading = true;
    try {
      for await (const { tasks } of this.#admin.changes({ signal })) {
        this.#setLive(true);
        this.#tell({ does: "change", tasks });
        this.#changed(tasks);
      }
    } catch {
      // Hidden, or no longer authorized, which the next request shows.
    }
    this.#setLive(false);
    this.#isReading = false;
  }

  #changed(tasks: Changed): void {
    for (const listener of this.#listeners) listener(tasks);
  }

  #setLive(isLive: boolean): void {
    if (isLive === this.#isLive) return;
    this.#isLive = isLive;
    if (this.#isReading) this.#tell({ does: "live", isLive });
    for (const watcher of this.#watchers) watcher(isLive);
  }
}
