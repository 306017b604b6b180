import assert from "node:assert/strict";
import { type MemoryDatabase, memoryDatabase, memoryStore } from "../store/sqlite/memory-store.ts";
import type { AdminStore } from "../store/admin-store.ts";
import type { LimitStore } from "../store/limits.ts";
import type { SessionStore } from "../store/session-store.ts";
import type { StoreChanges, TaskStore } from "../store/store.ts";
import type { TaskCommand, TaskCommandName, CommandResult } from "../task/command.ts";
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
    snapshot: (...what) => this.#alive(() => this.#inner.snapshot(...what)),
    request: (id) => this.#alive(() => this.#inner.request(id)),
    journal: (...page) => this.#alive(() => this.#inner.journal(...page)),
    journalEnds: (id, keys) => this.#alive(() => this.#inner.journalEnds(id, keys)),
    journalEntry: (id, key) => this.#alive(() => this.#inner.journalEntry(id, key)),
    list: (...page) => this.#alive(() => this.#inner.list(...page)),
    unfinished: (after, limit) => this.#alive(() => this.#inner.unfinished(after, limit)),
    hasClaimable: (handlers) => this.#alive(() => this.#inner.hasClaimable(handlers)),
    orphanedHandlers: () => this.#alive(() => this.#inner.orphanedHandlers()),
    queued: (handler, page) => this.#alive(() => this.#inner.queued(handler, page)),
    due: (now, limit) => this.#alive(() => this.#inner.due(now, limit)),
    nextSweepAt: (after) => this.#alive(() => this.#inner.nextSweepAt(after)),
    sessions: {
      get: (id) => this.#alive(() => this.#sessions.get(id)),
      put: (...session) => this.#alive(() => this.#sessions.put(...session)),
      update: (...state) => this.#alive(() => this.#sessions.update(...state)),
      extend: (ends) => this.#alive(() => this.#sessions.extend(ends)),
      delete: (ids) => this.#alive(() => this.#sessions.delete(ids)),
      deleteUnextended: (ends) => this.#alive(() => this.#sessions.deleteUnextended(ends)),
      deleteExpired: (...most) => this.#alive(() => this.#sessions.deleteExpired(...most)),
      tasksOf: (...page) => this.#alive(() => this.#sessions.tasksOf(...page)),
      send: (...message) => this.#alive(() => this.#sessions.send(...message)),
      subscribe: (listener) =>
        this.#sessions.subscribe((...news) => {
          if (!this.#crashed) listener(...news);
        }),
    },
    logs: {
      read: (...page) => this.#alive(async () => (await this.#inner.logs?.read(...page)) ?? []),
    },
    limits: {
      call: (call) => this.#alive(() => this.#limits.call(call)),
      ofTask: (taskId) => this.#alive(() => this.#limits.ofTask(taskId)),
    },
    pieces: {
      read: (...piece) => this.#alive(async () => this.#inner.pieces?.read(...piece)),
      deleteLeft: () => this.#alive(async () => (await this.#inner.pieces?.deleteLeft?.()) ?? false),
    },
    admin: {
      tasks: (...page) => this.#alive(() => this.#admin.tasks(...page)),
      count: (...range) => this.#alive(() => this.#admin.count(...range)),
      endedTools: () => this.#alive(() => this.#admin.endedTools()),
      failedKeys: (...of) => this.#alive(() => this.#admin.failedKeys(...of)),
      queues: (most) => this.#alive(() => this.#admin.queues(most)),
      actions: (...page) => this.#alive(() => this.#admin.actions(...page)),
      paused: () => this.#alive(() => this.#admin.paused()),
      causes: {
        failed: (...page) => this.#alive(() => this.#admin.causes.failed(...page)),
        first: (cause) => this.#alive(() => this.#admin.causes.first(cause)),
        names: (limit) => this.#alive(() => this.#admin.causes.names(limit)),
        marks: () => this.#alive(() => this.#admin.causes.marks()),
      },
      bulk: {
        get: (id) => this.#alive(() => this.#admin.bulk.get(id)),
        underWay: (limit) => this.#alive(() => this.#admin.bulk.underWay(limit)),
        list: (...page) => this.#alive(() => this.#admin.bulk.list(...page)),
        old: (...query) => this.#alive(() => this.#admin.bulk.old(...query)),
        tasks: (...page) => this.#alive(() => this.#admin.bulk.tasks(...page)),
        counts: (job) => this.#alive(() => this.#admin.bulk.counts(job)),
        on: (...page) => this.#alive(() => this.#admin.bulk.on(...page)),
      },
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

  get #limits(): LimitStore {
    const { limits } = this.#inner;
    if (limits === undefined) throw new TypeError("The store counts no limits.");
    return limits;
  }

  get #sessions(): SessionStore {
    const { sessions } = this.#inner;
    if (sessions === undefined) throw new TypeError("The store keeps no sessions.");
    return sessions;
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
