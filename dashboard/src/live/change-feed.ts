import type { Admin } from "../../../src/admin/operations.ts";

/** The ids of changed tasks; null: any may have changed. */
export type Changed = readonly string[] | null;

/** What windows tell each other. */
type Message =
  | { readonly does: "change"; readonly tasks: Changed }
  | { readonly does: "live"; readonly isLive: boolean }
  /** Asks the window that reads whether it is live. */
  | { readonly does: "ask" };

/** How often a window asks the one that reads, and how long that has to answer (ms). */
const askMs = 15_000;

/**
 * Reports changes of tasks while the page is visible. Browsers open few connections to a server, so one of the visible windows of an
 * operator reads the stream for all: the one that holds a lock. When it is closed or hidden, the lock goes to the next one; when it does not
 * answer, because a dialog or the browser has stopped it, another one takes the lock. Without locks, which browsers have in secure contexts
 * alone, each window reads.
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
  #isAsking = false;
  #isLive = false;

  /** `reader`: windows of others read for themselves. */
  constructor(admin: Pick<Admin, "changes">, reader: string) {
    this.#admin = admin;
    this.#name = `holdfast changes ${reader}`;
    this.#locks = (navigator as { readonly locks?: LockManager }).locks;
    this.#windows = new BroadcastChannel(this.#name);
    this.#windows.addEventListener("message", ({ data }: MessageEvent<Message>) => this.#hear(data));
    document.addEventListener("visibilitychange", () => this.#follow());
    setInterval(() => this.#ask(), askMs);
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
        this.#lock(this.#following, { signal });
        this.#tell({ does: "ask" });
        this.#changed(null); // while it was hidden, any may have changed
      }
    }
  }

  #lock(following: AbortController, options: LockOptions): void {
    const read = (): Promise<void> => this.#read(following.signal);
    this.#locks?.request(this.#name, options, read).catch((error: unknown) => {
      // It was hidden before its turn, or is followed again since another window took the lock.
      if (this.#following !== following || !(error instanceof DOMException) || error.name !== "AbortError")
        return;
      following.abort();
      this.#following = undefined;
      this.#follow();
    });
  }

  #ask(): void {
    if (this.#following === undefined || this.#isReading) return;
    if (this.#isAsking) this.#lock(this.#following, { steal: true });
    else this.#tell({ does: "ask" });
    this.#isAsking = !this.#isAsking;
  }

  #hear(message: Message): void {
    if (message.does === "ask") {
      if (this.#isReading) this.#tell({ does: "live", isLive: this.#isLive });
    } else if (this.#following !== undefined && !this.#isReading) {
      this.#isAsking = false;
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
