import type { TaskChange } from "../store.ts";

/** What an owner sends to the others after a commit. */
export interface News {
  readonly tasks?: readonly TaskChange[];
  /** The ids of sessions that were changed or deleted. */
  readonly sessions?: readonly string[];
  /** Messages about sessions are ready to be read. */
  readonly messages?: boolean;
  /** There may be tasks to claim, for any owner. */
  readonly work?: boolean;
}

/** With more ids than this, others reread everything that they hold. */
const mostIds = 2_000;

/** The news of one owner that were not sent yet; only the newest for each task and session. */
export class PendingNews {
  #tasks = new Map<string, TaskChange>();
  #sessions = new Set<string>();
  #messages = false;
  #work = false;
  #missed = false;

  add({ tasks = [], sessions = [], messages = false, work = false }: News): void {
    this.#messages ||= messages;
    this.#work ||= work;
    if (this.#missed) return;
    for (const change of tasks) {
      this.#tasks.delete(change.id); // moves it to the place of the newest
      this.#tasks.set(change.id, change);
    }
    for (const id of sessions) this.#sessions.add(id);
    if (this.#tasks.size + this.#sessions.size > mostIds) this.addGap();
  }

  /** Sends a gap next, which replaces all news. */
  addGap(): void {
    this.#missed = true;
    this.#tasks.clear();
    this.#sessions.clear();
  }

  get isEmpty(): boolean {
    const hasIds = this.#tasks.size > 0 || this.#sessions.size > 0;
    return !this.#missed && !hasIds && !this.#messages && !this.#work;
  }

  /** Returns and clears everything. */
  take(): News | "gap" {
    const taken = this.#missed ? "gap" : this.#news();
    this.#tasks = new Map();
    this.#sessions = new Set();
    this.#messages = false;
    this.#work = false;
    this.#missed = false;
    return taken;
  }

  #news(): News {
    return {
      tasks: [...this.#tasks.values()],
      sessions: [...this.#sessions],
      messages: this.#messages,
      work: this.#work,
    };
  }
}
