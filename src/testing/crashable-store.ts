import { memoryDatabase, type MemoryDatabase } from "../store/memory/memory-database.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { AdminStore } from "../store/admin-store.ts";
import type { StoreChanges, TaskStore } from "../store/store.ts";
import type { TaskCommand, TaskCommandName } from "../task/command.ts";
import type { CommandResult } from "../task/command-result.ts";

const never = new Promise<never>(() => undefined);

/** Decides when a process dies. */
export interface Fate {
  /** Whether it dies with this command, which is then not applied. */
  diesBefore(command: TaskCommand): boolean;
  /** Whether it dies right after committing these changes, without learning of them. */
  diesAfter(changes: StoreChanges): boolean;
  /** Called when it dies. */
  onDeath(): void;
}

/**
 * A store whose owner can die. After `crash()` nothing that the old runtime asks is ever answered or written, as if its process were
 * gone, while `successor()` gives the same data to the next one.
 */
export class CrashableStore {
  readonly #wrap: (store: TaskStore) => TaskStore;
  readonly #database: MemoryDatabase;
  readonly #fate: Fate | undefined;
  readonly #inner: TaskStore;
  #owner = "";
  #crashed = false;

  /** `wrap` wraps the store of each process. */
  constructor(wrap = (store: TaskStore) => store, database = memoryDatabase(), fate?: Fate) {
    this.#wrap = wrap;
    this.#database = database;
    this.#fate = fate;
    this.#inner = wrap(memoryStore(database));
  }

  readonly store: TaskStore = {
    open: (owner) =>
      this.#alive(() => {
        this.#owner = owner.id;
        return this.#inner.open(owner);
      }),
    close: () => this.#alive(() => this.#inner.close()),
    renew: () => this.#alive(() => this.#inner.renew()),
    setHandlers: (handlers) => this.#alive(() => this.#inner.setHandlers(handlers)),
    write: (command) => this.#alive(() => this.#write(command)),
    get: (id) => this.#alive(() => this.#inner.get(id)),
    withKeys: (...keys) => this.#alive(() => this.#inner.withKeys(...keys)),
    find: (wire) => this.#alive(() => this.#inner.find(wire)),
    snapshot: (id, isVisible) => this.#alive(() => this.#inner.snapshot(id, isVisible)),
    request: (id) => this.#alive(() => this.#inner.request(id)),
    journal: (...page) => this.#alive(() => this.#inner.journal(...page)),
    journalEnds: (id, keys) => this.#alive(() => this.#inner.journalEnds(id, keys)),
    journalEntry: (id, key) => this.#alive(() => this.#inner.journalEntry(id, key)),
    list: (...page) => this.#alive(() => this.#inner.list(...page)),
    unfinished: (after, limit) => this.#alive(() => this.#inner.unfinished(after, limit)),
    hasClaimable: (handlers) => this.#alive(() => this.#inner.hasClaimable(handlers)),
    orphanedHandlers: () => this.#alive(() => this.#inner.orphanedHandlers()),
    queued: (handler, limit) => this.#alive(() => this.#inner.queued(handler, limit)),
    due: (now, limit) => this.#alive(() => this.#inner.due(now, limit)),
    nextSweepAt: (after) => this.#alive(() => this.#inner.nextSweepAt(after)),
    logs: {
      read: (...page) => this.#alive(async () => (await this.#inner.logs?.read(...page)) ?? []),
    },
    admin: {
      tasks: (...page) => this.#alive(() => this.#admin.tasks(...page)),
      count: (...range) => this.#alive(() => this.#admin.count(...range)),
      endedTools: () => this.#alive(() => this.#admin.endedTools()),
      queues: (most) => this.#alive(() => this.#admin.queues(most)),
      actions: (...page) => this.#alive(() => this.#admin.actions(...page)),
      paused: () => this.#alive(() => this.#admin.paused()),
    },
    subscribe: (listener) =>
      this.#inner.subscribe((changes, by) => {
        if (!this.#crashed && this.#fate?.diesAfter(changes) === true) this.crash();
        if (!this.#crashed) listener(changes, by);
      }),
  };

  crash(): void {
    if (this.#crashed) return;
    this.#crashed = true;
    this.#database.kill(this.#owner);
    this.#fate?.onDeath();
  }

  successor(): CrashableStore {
    return new CrashableStore(this.#wrap, this.#database, this.#fate);
  }

  get #admin(): AdminStore {
    const { admin } = this.#inner;
    if (admin === undefined) throw new TypeError("The store has no part for operators.");
    return admin;
  }

  #write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  #write(command: TaskCommand): Promise<CommandResult> {
    if (this.#fate?.diesBefore(command) !== true) return this.#inner.write(command);
    this.crash();
    return never;
  }

  async #alive<T>(call: () => Promise<T>): Promise<T> {
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
