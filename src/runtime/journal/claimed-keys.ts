import { HoldfastError } from "../../task/fault.ts";
import {
  encodeJournalKey,
  splitRound,
  stemOf,
  type JournalKey,
  type JournalKind,
} from "../../task/journal.ts";

/** Whether the journal of the task has an entry of an earlier attempt under a stored key. */
type IsInJournal = (stored: string) => boolean;

/**
 * The journal keys that one attempt has used.
 * - A key names one thing in a task; otherwise a replay could confuse two.
 * - What was renamed keeps its old key in the journal that has it, and gets the new one everywhere else.
 */
export class ClaimedKeys {
  readonly #keys = new Map<string, JournalKind | undefined>();
  /** The old names of a name. */
  readonly #earlier = new Map<string, string[]>();
  /** The name of an old one. */
  readonly #now = new Map<string, string>();
  readonly #isInJournal: IsInJournal;

  constructor(isInJournal: IsInJournal = () => false) {
    this.#isInJournal = isInJournal;
  }

  /** The stored keys in the order in which they were claimed, with the kind of entry once that is known. */
  get all(): ReadonlyMap<string, JournalKind | undefined> {
    return this.#keys;
  }

  claim(key: JournalKey): string {
    assertKey(key);
    const now = this.#now.get(nameOf(key));
    if (now !== undefined) throw wrong(`${shown(key)} has the old name of "${now}". Use the new one`);
    const stored = this.stored(key);
    if (this.#keys.has(stored)) {
      throw new HoldfastError(
        "duplicate_key",
        `The key ${shown(key)} was already used in this task. Give each step and question its own key; in a loop, include the item, such as ["hash", path].`,
      );
    }
    this.#keys.set(stored, undefined);
    return stored;
  }

  /** What is done under a claimed key. */
  did(stored: string, kind: JournalKind): void {
    this.#keys.set(stored, kind);
  }

  /** The key under which the journal has this, or will have it. */
  stored(key: JournalKey): string {
    const encoded = encodeJournalKey(key);
    const earlier = this.#earlier.get(nameOf(key));
    if (earlier === undefined || this.#isInJournal(encoded)) return encoded;
    const { round, own } = splitRound(key);
    const old = earlier.map((name) => {
      if (round !== undefined)
        return encodeJournalKey([...round, name, ...(typeof own === "string" ? [] : own.slice(1))]);
      return encodeJournalKey(typeof key === "string" ? name : [name, ...key.slice(1)]);
    });
    return old.find(this.#isInJournal) ?? encoded;
  }

  /** Throws `configuration` for names that cannot be, or are used already. */
  rename(names: Readonly<Record<string, string>>): void {
    const pairs = Object.entries(names).filter(([old, name]) => this.#now.get(old) !== name);
    for (const [old, name] of pairs) {
      if (typeof name !== "string") throw new TypeError(`task.renamed needs a name for ${shown(old)}.`);
      if (this.#now.has(old)) throw wrong(`"${old}" is renamed twice`);
      if (Object.hasOwn(names, name) || this.#now.has(name) || this.#earlier.has(old))
        throw wrong(`"${name}" is a new name and an old one. Map each old name to the newest one`);
      const used = [...this.#keys.keys()].map(stemOf).find((key) => key === old || key === name);
      if (used !== undefined) throw wrong(`"${used}" is used already. Rename it before its first use`);
    }
    for (const [old, name] of pairs) {
      this.#now.set(old, name);
      this.#earlier.set(name, [...(this.#earlier.get(name) ?? []), old]);
    }
  }
}

/** The name of a key, without its round and the item of a collection. */
function nameOf(key: JournalKey): string {
  const { own } = splitRound(key);
  return String(typeof own === "string" ? own : own[0]);
}

function shown(key: JournalKey): string {
  return JSON.stringify(key);
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `task.renamed: ${problem}.`);
}

function assertKey(key: unknown): asserts key is JournalKey {
  const parts: readonly unknown[] = Array.isArray(key) ? key : [key];
  const whole = Array.isArray(key) || typeof key === "string";
  if (whole && parts.every((part) => typeof part === "string" || Number.isFinite(part))) return;
  throw new TypeError(`A key must be a string or an array of strings and finite numbers, not ${typeof key}.`);
}
