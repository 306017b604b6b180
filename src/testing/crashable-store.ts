import assert from "node:assert/strict";
import { type MemoryDatabase, memoryDatabase, memoryStore } from "../store/sqlite/memory-store.ts";
import type { AdminStore } from "../store/admin-store.ts";
import type { StoreChanges, TaskStore } from "../store/store.ts";
import type { TaskCommand, CommandResult } from "../task/command.ts";
import type { CommittedTasks } from "./committed-tasks.ts";
import { encodeJournalKey, type JournalKey } from "../task/journal.ts";

const never = new Promise<never>(() => undefined);

/** Decides when a process dies. */
interface Fate {
  /** Whether it dies with this command, which is then not applied. */
  diesBefore(command: TaskCommand): boolean;
  /** Whether it dies right after committing these changes, without learning of them. */
  diesAfter(changes: StoreChanges): boolean;
  /** Called when it dies. */
  onDeath(): void;
}

/** What stores on several machines have, or only servers with more than their tasks: tests do without. */
const leftOut: ReadonlySet<string | symbol> = new Set([
  "estimate",
  "lease",
  "messages",
  "onCommit",
  "onListening",
  "onWork",
  "outbox",
  "protect",
  "rejoin",
  "replica",
  "reports",
  "sharesLoad",
] satisfies readonly (keyof TaskStore | keyof AdminStore)[]);

/**
 * A store whose owner can die. After `crash()` nothing that the old runtime asks is ever answered or written, as if its process were
 * gone, while `successor()` gives the same data to the next one.
 */
export class CrashableStore {
  readonly store: TaskStore;
  readonly #wrap: (store: TaskStore) => TaskStore;
  readonly #database: MemoryDatabase;
  readonly #fate: Fate | undefined;
  #owner = "";
  #crashed = false;

  /** `wrap` wraps the store of each process. */
  constructor(wrap = (store: TaskStore) => store, database = memoryDatabase(), fate?: Fate) {
    this.#wrap = wrap;
    this.#database = database;
    this.#fate = fate;
    const inner = wrap(memoryStore(database));
    const open: TaskStore["open"] = async (owner) => {
      this.#owner = owner.id;
      return inner.open(owner);
    };
    const write = async (command: TaskCommand): Promise<CommandResult> => {
      if (this.#fate?.diesBefore(command) !== true) return inner.write(command);
      this.crash();
      return never;
    };
    const subscribe: TaskStore["subscribe"] = (listener) =>
      inner.subscribe((changes, by) => {
        if (!this.#crashed && this.#fate?.diesAfter(changes) === true) this.crash();
        listener(changes, by);
      });
    this.store = this.#guarded(inner, { open, write, subscribe });
  }

  crash(): void {
    if (this.#crashed) return;
    this.#crashed = true;
    this.#database.kill(this.#owner);
    this.#fate?.onDeath();
  }

  successor(): CrashableStore {
    return new CrashableStore(this.#wrap, this.#database, this.#fate);
  }

  /** The store, or a part of it, while its owner lives. `own`: methods in place of those of the store. */
  #guarded<Part extends object>(part: Part, own: object = {}): Part {
    const parts = new Map<object, object>();
    const memberOf = (name: string | symbol): unknown => {
      const from = Object.hasOwn(own, name) ? own : part;
      const member: unknown = leftOut.has(name) ? undefined : Reflect.get(from, name);
      if (typeof member === "object" && member !== null) {
        const known = parts.get(member) ?? this.#guarded(member);
        parts.set(member, known);
        return known;
      }
      if (typeof member !== "function") return member;
      const call = (...given: readonly unknown[]): unknown => Reflect.apply(member, from, given);
      if (name !== "subscribe") return (...given: readonly unknown[]) => this.#alive(() => call(...given));
      return (listener: (...news: readonly unknown[]) => void) =>
        call((...news: readonly unknown[]) => (this.#crashed ? undefined : listener(...news)));
    };
    const guarded = {};
    for (const name of namesOf(part)) {
      const member = {
        get: () => memberOf(name),
        set: (value: unknown) => void Reflect.set(own, name, value),
      };
      Object.defineProperty(guarded, name, { ...member, enumerable: true, configurable: true }); // tests spread it
    }
    return guarded as Part;
  }

  async #alive<T>(call: () => T): Promise<T> {
    if (this.#crashed) return never;
    try {
      const answer = await call();
      return this.#crashed ? await never : answer;
    } catch (error) {
      if (this.#crashed) return never; // pending work is refused because its owner is lost, and no caller learns of it
      throw error;
    }
  }
}

/**
 * Where a process dies. `after`: the entry with the key has just ended, and that is stored. `before`: it was about to end, and nothing is
 * stored.
 */
export type CrashPoint = { readonly after: JournalKey } | { readonly before: JournalKey };

interface ArmedPoint {
  readonly when: "after" | "before";
  readonly key: string;
  /** The tasks in which it had already ended. */
  readonly past: ReadonlySet<string>;
  readonly reached: PromiseWithResolvers<void>;
}

/** The points at which processes of a test die. Each is used once. */
export class CrashPoints {
  readonly #stored: CommittedTasks;
  readonly #armed = new Set<ArmedPoint>();

  constructor(stored: CommittedTasks) {
    this.#stored = stored;
  }

  /** Resolves when the process has died there. */
  arm(given: CrashPoint): Promise<void> {
    const { when, key } = read(given);
    const past = new Set(this.#ids().filter((id) => this.#hasEnded(id, key)));
    const point = { when, key, past, reached: Promise.withResolvers<void>() };
    this.#armed.add(point);
    return point.reached.promise;
  }

  isBefore(command: TaskCommand): boolean {
    const ends = this.#endedBy(command);
    return this.#pass(({ when, key }) => when === "before" && ends.includes(key));
  }

  isAfter(changes: StoreChanges): boolean {
    if (changes === "gap") return false;
    return this.#pass(
      ({ when, key, past }) =>
        when === "after" && changes.some(({ id }) => !past.has(id) && this.#hasEnded(id, key)),
    );
  }

  /** The message about points that no process has reached; undefined if there is none. */
  missed(): string | undefined {
    const [point] = this.#armed;
    if (point === undefined) return undefined;
    const { when, key, past } = point;
    const name = `{ ${when}: ${JSON.stringify(key)} }`;
    if (past.size > 0)
      return `The crash point ${name} was not reached: "${key}" had ended before t.crash was called. Call t.crash first.`;
    const keys = this.#ids().flatMap((id) => this.#stored.entries(id).map((entry) => entry.key));
    const known = keys.length === 0 ? "nothing" : keys.map((one) => JSON.stringify(one)).join(", ");
    return `The crash point ${name} was not reached. The journals have: ${known}.`;
  }

  #pass(isReached: (point: ArmedPoint) => boolean): boolean {
    const point = [...this.#armed].find(isReached);
    if (point === undefined) return false;
    this.#armed.delete(point);
    point.reached.resolve();
    return true;
  }

  #ids(): readonly string[] {
    return this.#stored.records().map(({ id }) => id);
  }

  #hasEnded(id: string, key: string): boolean {
    return (this.#stored.entry(id, key)?.doneAt ?? null) !== null;
  }

  /** The keys of what a command ends, if it is applied. */
  #endedBy(command: TaskCommand): readonly string[] {
    switch (command.type) {
      case "record_step":
      case "end_sleep":
      case "close_wait":
        return [command.key];
      case "answer_inputs":
        return command.answers.map(({ key }) => key);
      case "send_event": {
        const waits = this.#stored
          .entries(command.id)
          .filter(
            ({ kind, request, doneAt }) => kind === "event" && request === command.name && doneAt === null,
          );
        return waits.slice(0, 1).map(({ key }) => key);
      }
      case "settle":
      case "fail":
      case "expire":
      case "cancel": {
        const parent = this.#stored.record(command.id)?.parent;
        return parent === null || parent === undefined ? [] : [parent.key];
      }
      default:
        return [];
    }
  }
}

function read(point: CrashPoint): Pick<ArmedPoint, "when" | "key"> {
  if ("after" in point) return { when: "after", key: encodeJournalKey(point.after) };
  if ("before" in point) return { when: "before", key: encodeJournalKey(point.before) };
  assert.fail("t.crash takes { after: key }, { before: key } or no argument, which crashes at once.");
}

/** Those of its class too. */
function namesOf(part: object): ReadonlySet<string | symbol> {
  const names = new Set<string | symbol>();
  for (
    let each: object | null = part;
    each !== null && each !== Object.prototype;
    each = Reflect.getPrototypeOf(each)
  )
    for (const name of Reflect.ownKeys(each)) if (name !== "constructor") names.add(name);
  return names;
}
