import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalEntry } from "../../task/journal.ts";
import {
  uniqueHandlers,
  type ClaimingHandler,
  type HandlerName,
  type StoreOwner,
  noTurns,
} from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import { applyCommand, type Applied } from "../apply-command.ts";
import type { AdminStore } from "../admin-store.ts";
import { ChangeFeed } from "../change-feed.ts";
import { Lifecycle } from "../lifecycle.ts";
import type { MessageQueues } from "../message-queues.ts";
import type { NodeReports } from "../node-reports.ts";
import type { Outbox } from "../outbox.ts";
import type { SessionStore } from "../session-store.ts";
import type { TaskLogs } from "../task-logs.ts";
import { StoreLost } from "../lost-store.ts";
import type {
  ChangeListener,
  JournalPage,
  KeyedTask,
  ListedEntry,
  Renewal,
  TaskFilter,
  TaskStore,
  WireName,
} from "../store.ts";
import { memoryDatabase, type MemoryDatabase } from "./memory-database.ts";
import { MemoryMessages } from "./memory-messages.ts";
import { memoryReports } from "./memory-reports.ts";
import type { MemoryTables } from "./memory-tables.ts";
import { linesAfter, openInputs, type StoredTask } from "./stored-task.ts";

/**
 * A store that keeps nothing after its process ends: for tests, and for tools whose tasks may be lost. Stores of one `database` share their
 * tasks.
 */
export function memoryStore(database: MemoryDatabase = memoryDatabase()): TaskStore {
  return new MemoryStore(database);
}

class MemoryStore implements TaskStore {
  readonly #database: MemoryDatabase;
  readonly #tables: MemoryTables;
  readonly #feed = new ChangeFeed();
  readonly #lifecycle = new Lifecycle();
  readonly sessions: SessionStore;
  readonly admin: AdminStore;
  readonly outbox: Outbox;
  readonly reports: NodeReports;
  readonly logs: TaskLogs = {
    read: async (id, list, after, limit) => linesAfter(this.#stored(id), list, after).slice(0, limit),
  };
  readonly messages: MessageQueues = new MemoryMessages(
    () => this.#commit(),
    () => this.#owner,
    (taskId) => this.#tables.stored.get(taskId)?.messages,
  );
  #owner = "";

  constructor(database: MemoryDatabase) {
    this.#database = database;
    this.#tables = database.tables;
    this.admin = this.#tables.admin.port(() => this.#lifecycle.assertOpen());
    this.outbox = this.#tables.outbox.port(() => this.#lifecycle.assertOpen());
    this.reports = memoryReports(this.#tables.reports, {
      assertOpen: () => this.#lifecycle.assertOpen(),
      commit: async () => {
        await this.#commit();
        return this.#owner;
      },
      living: () => this.#tables.owners.ids(),
      unfinished: (most) => this.#tables.unfinishedAfter("", most),
    });
    this.sessions = database.sessionsFor(
      () => this.#lifecycle.assertOpen(),
      () => this.#commit(),
    );
  }

  open(owner: StoreOwner): Promise<void> {
    return this.#lifecycle.open(() => {
      this.#owner = owner.id;
      this.#database.join(owner, this.#feed);
    });
  }

  close(): Promise<void> {
    return this.#lifecycle.close(() => this.#database.leave(this.#owner));
  }

  async renew(): Promise<Renewal> {
    this.#lifecycle.assertOpen();
    const { owners } = this.#tables;
    const held = owners.lives(this.#owner);
    const paused = this.#tables.admin.paused().map(({ tool }) => tool);
    return {
      ...(paused.length > 0 && { paused }),
      held,
      gone: owners.gone().filter((id) => id !== this.#owner),
      others: owners.living - Number(held),
    };
  }

  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    await this.#commit();
    this.#tables.owners.setHandlers(this.#owner, handlers);
    this.#database.publish("gap", this.#owner);
  }

  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async write(command: TaskCommand): Promise<CommandResult> {
    this.#lifecycle.assertOpen();
    // As in any other store, later changes to the caller's objects have no effect …
    const copy = clone(command);
    await this.#commit();
    const { result, changes } = this.#apply(copy);
    this.#database.publish(changes, this.#owner);
    // Tasks queued for the lost owner are claimable from now on, but no task change says so.
    if (command.type === "reclaim" && result.ok) this.#database.publish("gap", this.#owner);
    return result;
  }

  /** … and the commit comes after the call, never during it. */
  async #commit(): Promise<void> {
    this.#lifecycle.assertOpen();
    await Promise.resolve();
    if (this.#tables.owners.hasLost(this.#owner)) throw new StoreLost("the memory store", false);
  }

  #apply(command: TaskCommand): Applied {
    try {
      return applyCommand(this.#tables, this.#owner, command);
    } catch (error) {
      throw new HoldfastError("store_failed", `The store could not apply ${command.type}.`, { cause: error });
    }
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    return this.#stored(id)?.record;
  }

  async snapshot(
    id: string,
    isVisible: (task: TaskRecord) => boolean = () => true,
  ): Promise<TaskSnapshot | undefined> {
    const stored = this.#stored(id);
    if (stored === undefined || !isVisible(stored.record)) return undefined;
    const { record: task, journal, outcome } = stored;
    const own = task.openInputs > 0 ? openInputs(journal.values()) : [];
    const inputs = task.childInputs > 0 ? [...own, ...this.#tables.inputsBelow(id)] : own;
    return { task, inputs, outcome };
  }

  async request(id: string): Promise<TaskRequest | undefined> {
    return this.#stored(id)?.request;
  }

  async journal(id: string, from: string, limit: number): Promise<JournalPage> {
    const all = [...(this.#stored(id)?.journal.values() ?? [])];
    const start = Number(from);
    const end = start + limit;
    const entries = all.slice(start, end).map((entry, index) => listed(entry, start + index));
    return { entries, next: end < all.length ? String(end) : null };
  }

  async journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    const journal = this.#stored(id)?.journal;
    return keys
      .flatMap((key) => journal?.get(key) ?? [])
      .map(({ key, value, error }) => ({ key, value, error }));
  }

  async journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    return this.#stored(id)?.journal.get(key);
  }

  async find(wire: WireName): Promise<string | undefined> {
    this.#lifecycle.assertOpen();
    return this.#tables.find(wire);
  }

  async withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    this.#lifecycle.assertOpen();
    return this.#tables.withKeys(principal, prefix, limit);
  }

  async list(
    owner: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): Promise<readonly TaskRecord[]> {
    this.#lifecycle.assertOpen();
    return this.#tables.list(owner, before, limit, now);
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    this.#lifecycle.assertOpen();
    return this.#tables.unfinishedAfter(after, limit);
  }

  async hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    this.#lifecycle.assertOpen();
    return this.#tables.runnable({ handlers, turns: noTurns, limit: 1 }, this.#owner).tasks.length > 0;
  }

  async orphanedHandlers(): Promise<readonly HandlerName[]> {
    this.#lifecycle.assertOpen();
    const orphaned = this.#tables.queue.handlers().filter((handler) => !this.#tables.owners.serve(handler));
    return uniqueHandlers(orphaned);
  }

  async queued(handler: HandlerName, limit: number): Promise<readonly string[]> {
    this.#lifecycle.assertOpen();
    return this.#tables.queue.ids(handler, limit);
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    this.#lifecycle.assertOpen();
    return this.#tables.sweeps.due(now, limit);
  }

  async nextSweepAt(after: number): Promise<number | null> {
    this.#lifecycle.assertOpen();
    return this.#tables.sweeps.nextAfter(after);
  }

  subscribe(listener: ChangeListener): () => void {
    return this.#feed.subscribe(listener);
  }

  #stored(id: string): StoredTask | undefined {
    this.#lifecycle.assertOpen();
    return this.#tables.stored.get(id);
  }
}

function clone(command: TaskCommand): TaskCommand {
  try {
    return structuredClone(command);
  } catch (error) {
    throw new HoldfastError("store_failed", "The command contains more than plain data.", { cause: error });
  }
}

function listed({ request, value, error, ...head }: JournalEntry, place: number): ListedEntry {
  const texts = [request, value, error].filter((text) => text !== null);
  return { ...head, place, bytes: texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) };
}
