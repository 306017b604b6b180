import type { TaskStore } from "../../src/store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../src/task/command.ts";

/** A process, until it crashes or is stopped. What its handlers do after that counts for nothing. */
export interface Life {
  readonly over: boolean;
}

/** Watches the steps of all processes of a database, and what the processes write there. */
export class StepRuns {
  /** What should not have been. */
  readonly violations: string[] = [];
  /** How many commands of each name the store took. */
  readonly taken = new Map<TaskCommandName, number>();
  /** The runs of each step that are under way. */
  readonly #running = new Map<string, Set<{ readonly life: Life }>>();
  /** The steps of each task that its journal has the end of: true for those that threw. */
  readonly #ends = new Map<string, Map<string, boolean>>();

  /** Runs a step's function, which is to be run nowhere else at that time, and never after its end is in the journal. */
  async run<T>(life: Life, id: string, key: string, work: () => T | Promise<T>): Promise<T> {
    if (life.over) return work();
    if (this.#ends.get(id)?.has(key) === true) this.violations.push(`${key} ran again`);
    const step = `${id} ${key}`;
    const running = this.#running.get(step) ?? new Set();
    const run = { life };
    this.#running.set(step, running.add(run));
    const atOnce = [...running].filter((each) => !each.life.over).length;
    if (atOnce > 1) this.violations.push(`${key} runs ${atOnce} times at once`);
    try {
      return await work();
    } finally {
      running.delete(run);
    }
  }

  /** A store whose writes are watched as they are committed, before their process hears of that. */
  watched(inner: TaskStore): TaskStore {
    return new Proxy(inner, {
      get: (target, name: keyof TaskStore) => {
        if (name === "write") return (command: TaskCommand) => this.#write(target, command);
        const member: unknown = target[name];
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }

  async #write(store: TaskStore, command: TaskCommand): Promise<CommandResult> {
    const result = await store.write(command);
    if (result.ok) this.#taken(command);
    if (result.ok && command.type === "retry") await this.#assertForgotten(store, command.id);
    if (!result.ok && result.reason === "duplicate") this.violations.push(`${command.type} came twice`);
    return result;
  }

  #taken(command: TaskCommand): void {
    this.taken.set(command.type, (this.taken.get(command.type) ?? 0) + 1);
    if (command.type === "record_step") {
      const ends = this.#ends.get(command.id) ?? new Map<string, boolean>();
      this.#ends.set(command.id, ends.set(command.key, command.error !== null));
    }
    if (command.type === "retry") {
      // What failed is forgotten, and runs again; what did not is kept.
      const ends = this.#ends.get(command.id) ?? new Map<string, boolean>();
      for (const [key, threw] of ends) if (threw) ends.delete(key);
    }
  }

  /** Nothing that failed is left to the next attempt, which would fail of it again. */
  async #assertForgotten(store: TaskStore, id: string): Promise<void> {
    const { entries } = await store.journal(id, "0", 1_000);
    const again = entries.filter(({ kind }) => kind === "step" || kind === "call").map(({ key }) => key);
    for (const { key, error } of await store.journalEnds(id, again)) {
      if (error !== null) this.violations.push(`${key} was not forgotten`);
    }
  }
}
