import { Run } from "../runtime/journal/run.ts";
import { HoldfastError } from "../task/fault.ts";
import { encodeJournalKey, type JournalKey } from "../task/journal.ts";

/** A key under which the code does something other than the recording. */
export interface ChangedKey {
  readonly key: string;
  /** The error message that the handler gets. */
  readonly problem: string;
}

/** A run that reports the keys that its handler uses. */
export class ReplayedRun extends Run {
  readonly #reached = new Set<string>();

  get reached(): ReadonlySet<string> {
    return this.#reached;
  }

  /** Accepts a key that begins nothing. */
  pass(key: JournalKey): void {
    super.claim(key);
  }

  override claim(key: JournalKey): string {
    const claimed = super.claim(key);
    this.#reached.add(claimed);
    return claimed;
  }
}

/** A handler's calls on its task: which ones are open, and what was wrong with them. */
export class ReplayedCalls {
  readonly #open = new Set<Promise<unknown>>();
  readonly #changed = new Map<string, ChangedKey>();
  #moves = 0;
  #onMove: () => void = () => undefined;

  /** How many calls wait for something that never comes. */
  get open(): number {
    return this.#open.size;
  }

  get changed(): readonly ChangedKey[] {
    return [...this.#changed.values()];
  }

  /** Grows whenever a call begins or ends. */
  get moves(): number {
    return this.#moves;
  }

  /** Calls `listener` at the next move. */
  onMove(listener: () => void): void {
    this.#onMove = listener;
  }

  /** The same calls, observed. */
  watch<T extends object>(calls: T): T {
    return new Proxy(calls, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]): unknown => {
          const returned: unknown = Reflect.apply(member, target, args);
          if (returned instanceof Promise) this.#follow(returned, args[0]);
          return returned;
        };
      },
    });
  }

  #follow(call: Promise<unknown>, key: unknown): void {
    this.#open.add(call);
    this.#move();
    const ended = (): void => {
      this.#open.delete(call);
      this.#move();
    };
    call.then(ended, (error: unknown) => {
      if (error instanceof HoldfastError && error.code === "replay_mismatch") {
        const encoded = encodeJournalKey(key as JournalKey); // a key, because it has an entry
        this.#changed.set(encoded, { key: encoded, problem: error.message });
      }
      ended();
    });
  }

  #move(): void {
    this.#moves++;
    this.#onMove();
  }
}
