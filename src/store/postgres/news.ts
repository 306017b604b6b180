import type { TaskChange } from "../store.ts";

/** What an owner tells the others, once it is committed. */
export interface News {
  readonly tasks?: readonly TaskChange[];
  /** The ids of sessions that were changed or deleted. */
  readonly sessions?: readonly string[];
  /** Messages about sessions wait to be read. */
  readonly messages?: boolean;
  /** There may be something to claim, for whoever can. */
  readonly work?: boolean;
}

/** With more than these, others read all that they hold again. */
const mostIds = 2_000;

/** What one owner has to tell, where of each task and each session only the newest counts. */
export class UntoldNews {
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
      this.#tasks.delete(change.id); // so that it stands where the newest one does
      this.#tasks.set(change.id, change);
    }
    for (const id of sessions) this.#sessions.add(id);
    if (this.#tasks.size + this.#sessions.size > mostIds) this.addGap();
  }

  /** What is told next is that something was missed, which says all. */
  addGap(): void {
    this.#missed = true;
    this.#tasks.clear();
    this.#sessions.clear();
  }

  get isEmpty(): boolean {
    const hasIds = this.#tasks.size > 0 || this.#sessions.size > 0;
    return !this.#missed && !hasIds && !this.#messages && !this.#work;
  }

  /** All of it, which is then not there any more. */
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
