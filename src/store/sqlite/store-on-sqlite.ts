import { setImmediate } from "node:timers/promises";
import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import { assertCommand } from "../../task/command-shape.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalEntry } from "../../task/journal.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import { type AdminStore, type NodeReports, type QueueLength, summedByTool } from "../admin-store.ts";
import type {
  ArtifactPieces,
  ChangeListener,
  JournalPage,
  KeyedTask,
  QueuedPage,
  Renewal,
  StoreChanges,
  TaskFilter,
  TaskStore,
  WireName,
  ReserveMemory,
  TaskLogs,
} from "../store.ts";
import { ChangeFeed, Lifecycle } from "../lifecycle.ts";
import type { LimitStore } from "../limits.ts";
import type { MessageQueues, SessionCommand, SessionNews, SessionStore } from "../session-store.ts";
import type { Outbox } from "../outbox.ts";
import type { LoggedChanges } from "./change-log.ts";
import type { OtherOwners } from "./sqlite-owners.ts";
import { readTask } from "./statements.ts";
import { messageOf } from "./sqlite-error.ts";
import type { SqliteReader } from "./sqlite-reader.ts";
import { bulkOf } from "./sqlite-bulk.ts";
import { reportsOf } from "./sqlite-reports.ts";
import type { Sealing } from "../cipher.ts";
import { LeftPieces } from "../left-pieces.ts";
import { Protection } from "../protection.ts";
import { storedSecrets } from "../secrets.ts";
import type { Writer } from "./writer.ts";

/** An open database: a file, or one in memory. */
export interface OpenDatabase {
  readonly owner: string;
  readonly reader: SqliteReader;
  readonly writer: Pick<Writer, "write" | "dead">;
  /** Encrypts from now on. */
  encrypt(sealing: Sealing): void;
  readonly others: Pick<OtherOwners, "renew" | "living">;
  /** Why the database is lost for good; undefined if it is not. Left out by one that cannot be. */
  lost?(): Promise<HoldfastError | undefined>;
  /** Removes what is left of an owner outside the database, once its tasks went to others. */
  forget(owner: string): void;
  /** Resolves when all writes are durable. */
  close(): Promise<void>;
}

/** Is told of commits. */
export interface Publisher {
  readonly committed: (changes: StoreChanges, commands: number) => void;
  readonly committedByOthers: (changes: LoggedChanges) => void;
}

/** How a store opens its database for an owner. */
export type Opening = (owner: StoreOwner, publisher: Publisher) => OpenDatabase | Promise<OpenDatabase>;

/** Tasks in a SQLite database. */
export class StoreOnSqlite implements TaskStore {
  readonly #place: string;
  readonly #opening: Opening;
  readonly #feed = new ChangeFeed();
  readonly #sessionFeed = new ChangeFeed<SessionNews>();
  readonly #lifecycle = new Lifecycle();
  readonly #onCommit = new Set<(commands: number) => void>();
  #database: OpenDatabase | undefined;
  #leftPieces: LeftPieces | undefined;
  #protection = new Protection();

  /** `place` names the database in messages. */
  constructor(place: string, opening: Opening) {
    this.#place = place;
    this.#opening = opening;
  }

  open(owner: StoreOwner): Promise<void> {
    return this.#lifecycle.open(async () => {
      const leftPieces = new LeftPieces({
        some: async (ids) => (await this.#open().writer.write({ type: "left_pieces", ids })).count,
        owners: (after) => this.#read((open) => open.pieceOwners(after)),
      });
      const database = await this.#opening(owner, {
        committed: (changes, commands) => {
          leftPieces.saw(changes);
          this.#feed.publish(changes, "self");
          if (commands > 0) for (const listener of this.#onCommit) listener(commands);
        },
        committedByOthers: ({ tasks, sessions }) => {
          this.#feed.publish(tasks, "others");
          this.#sessionFeed.publish(sessions, "others");
        },
      });
      const { reader, writer } = database;
      await this.#protection.begin({
        secrets: storedSecrets(reader.secrets, (command) => writer.write(command)),
        hasTasks: async () => reader.hasTasks(),
        encrypt: (sealing) => database.encrypt(sealing),
        close: () => database.close(),
      });
      this.#database = database;
      this.#leftPieces = leftPieces;
    });
  }

  protect(protection: Protection): void {
    this.#protection = protection;
  }

  close(): Promise<void> {
    return this.#lifecycle.close(async () => {
      const database = this.#database;
      this.#database = undefined;
      await database?.close();
    });
  }

  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async write(command: TaskCommand): Promise<CommandResult> {
    const database = this.#open();
    assertCommand(command);
    const written = this.#protection.written(command);
    if (written !== undefined) return written;
    const result = this.#protection.shown(await database.writer.write(command));
    if (command.type === "reclaim" && result.ok && "next" in result && result.next === null) {
      database.forget(command.owner);
    }
    return result;
  }

  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    await this.#open().writer.write({ type: "handlers", handlers });
  }

  async renew(): Promise<Renewal> {
    const database = this.#open();
    const lost = database.writer.dead ?? (await database.lost?.());
    if (lost !== undefined) return { held: false, gone: [], others: 0, lost };
    return this.#protection.renewed(() => this.#read(() => this.#open().others.renew()));
  }

  readonly sessions: SessionStore = {
    get: (id) => this.#read((reader) => reader.session(id)),
    put: async (session, room) => void (await this.#writeSessions({ type: "put_session", session, room })),
    update: async (id, state, before) =>
      (await this.#writeSessions({ type: "update_session", id, state, before })) > 0,
    extend: async (ends) => void (await this.#writeSessions({ type: "extend_sessions", ends })),
    delete: async (ids) => void (await this.#writeSessions({ type: "delete_sessions", ids })),
    deleteUnextended: async (ends) =>
      void (await this.#writeSessions({ type: "delete_unextended_sessions", ends })),
    deleteExpired: (now, limit) => this.#writeSessions({ type: "delete_expired_sessions", now, limit }),
    tasksOf: (id, limit, requestId) => this.#read((reader) => reader.tasksOf(id, limit, requestId)),
    send: async (id, message) => void (await this.#writeSessions({ type: "send_to_session", id, message })),
    subscribe: (listener) => this.#sessionFeed.subscribe(listener),
  };

  readonly logs: TaskLogs = {
    read: (id, list, after, limit) => this.#readTask(id, (reader) => reader.lines(id, list, after, limit)),
  };

  readonly pieces: ArtifactPieces = {
    read: (id, key, seq) => this.#readTask(id, (reader) => reader.piece(id, key, seq)),
    deleteLeft: async () => (await this.#leftPieces?.deleteSome()) ?? false,
  };

  readonly admin: AdminStore = {
    tasks: (range, before, limit) => this.#read(({ admin }) => admin.tasks(range, before, limit)),
    count: (range, most) => this.#read(({ admin }) => admin.count(range, most)),
    endedTools: () => this.#read(({ admin }) => admin.endedTools()),
    queues: async (most) => {
      const lengths = await this.#read((reader) => reader.queueLengths(most));
      return lengthsInTurns(() => this.#read(() => lengths.next()));
    },
    actions: (taskId, before, limit) => this.#read(({ admin }) => admin.actions(taskId, before, limit)),
    failedKeys: (taskId, limit) => this.#readTask(taskId, ({ admin }) => admin.failedKeys(taskId, limit)),
    paused: () => this.#read(({ admin }) => admin.paused()),
    causes: {
      failed: (...page) => this.#read(({ admin }) => admin.failed(...page)),
      first: (cause) => this.#read(({ admin }) => admin.firstOf(cause)),
      names: (limit) => this.#read(({ admin }) => admin.causeNames(limit)),
      marks: () => this.#read(({ admin }) => admin.marks()),
    },
    bulk: bulkOf((read) => this.#read(({ bulk }) => read(bulk))),
  };

  readonly outbox: Outbox = {
    nextDueAt: (hook) => this.#read(({ outbox }) => outbox.nextDueAt(hook)),
    counts: (most) => this.#read(({ outbox }) => outbox.counts(most)),
    ofTask: (taskId, lookedThrough) => this.#read(({ outbox }) => outbox.ofTask(taskId, lookedThrough)),
    before: (seq, limit) => this.#read(({ outbox }) => outbox.before(seq, limit)),
  };

  readonly reports: NodeReports = reportsOf(
    () => this.#open(),
    (read) => this.#read(({ reports }) => read(reports)),
  );

  readonly messages: MessageQueues = {
    put: async (taskId, message, maxMessages) => {
      const command = { type: "put_message", taskId, message, maxMessages } as const;
      return (await this.#open().writer.write({ type: "messages", command })).put;
    },
    take: async (taskId, limit) => {
      const command = { type: "take_messages", taskId, limit } as const;
      return (await this.#open().writer.write({ type: "messages", command })).taken;
    },
  };

  readonly limits: LimitStore = {
    call: async (call) => this.#open().writer.write({ type: "limits", call }),
    ofTask: (taskId) => this.#read((reader) => reader.limitPlaces(taskId)),
  };

  get(id: string): Promise<TaskRecord | undefined> {
    return this.#readTask(id, (reader) => reader.task(id));
  }

  async snapshot(
    id: string,
    isVisible: (task: TaskRecord) => boolean = () => true,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined> {
    if (reserve !== undefined) {
      const found = await this.#readTask(id, (reader) => reader.snapshotUnlessLarge(id, isVisible));
      if (typeof found !== "number") return found;
      await reserve(found);
    }
    return this.#readTask(id, (reader) => reader.snapshot(id, isVisible));
  }

  request(id: string): Promise<TaskRequest | undefined> {
    return this.#readTask(id, (reader) => reader.request(id));
  }

  journal(id: string, from: string, limit: number): Promise<JournalPage> {
    return this.#readTask(id, (reader) => reader.journal(id, from, limit));
  }

  journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    return this.#readTask(id, (reader) => reader.journalEnds(id, keys));
  }

  journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    return this.#readTask(id, (reader) => reader.journalEntry(id, key));
  }

  find(wire: WireName): Promise<string | undefined> {
    return this.#read((reader) => reader.find(wire));
  }

  withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    return this.#read((reader) => reader.withKeys(principal, prefix, limit));
  }

  list(owner: TaskFilter, before: string | null, limit: number, now: number): Promise<readonly TaskRecord[]> {
    return this.#read((reader) => reader.list(owner, before, limit, now));
  }

  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.#read((reader) => reader.unfinished(after, limit));
  }

  hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    return this.#read((reader) => reader.hasClaimable(handlers, this.#open().owner));
  }

  orphanedHandlers(): Promise<readonly HandlerName[]> {
    return this.#read((reader) => reader.orphanedHandlers());
  }

  queued(handler: HandlerName, page: QueuedPage): Promise<readonly string[]> {
    return this.#read((reader) => reader.queued(handler, page));
  }

  due(now: number, limit: number): Promise<readonly string[]> {
    return this.#read((reader) => reader.due(now, limit));
  }

  nextSweepAt(after: number): Promise<number | null> {
    return this.#read((reader) => reader.nextSweepAt(after));
  }

  subscribe(listener: ChangeListener): () => void {
    return this.#feed.subscribe(listener);
  }

  onCommit(listener: (commands: number) => void): void {
    this.#onCommit.add(listener);
  }

  /** Resolves with the number of sessions that it changed or deleted. */
  async #writeSessions(command: SessionCommand): Promise<number> {
    const { count, news } = await this.#open().writer.write({ type: "sessions", command });
    this.#sessionFeed.publish(news, "self");
    return count;
  }

  #open(): OpenDatabase {
    this.#lifecycle.assertOpen();
    if (this.#database === undefined) throw new HoldfastError("store_closed", "The store is not open.");
    this.#protection.assertHeld();
    return this.#database;
  }

  /** Like `#read`, for the stored data of one task: damage affects only that task. */
  #readTask<T>(id: string, read: (reader: SqliteReader) => T): Promise<T> {
    return this.#read((reader) => readTask(id, () => read(reader)));
  }

  async #read<T>(read: (reader: SqliteReader) => T): Promise<T> {
    const { reader } = this.#open();
    try {
      return read(reader);
    } catch (error) {
      if (error instanceof HoldfastError) throw error;
      throw new HoldfastError("store_failed", `${this.#place} cannot be read: ${messageOf(error)}.`, {
        cause: error,
      });
    }
  }
}

/**
 * Calls `next` until there is no more, once in each turn of the event loop: counting a million tasks takes seconds, and would block
 * requests.
 */
export async function lengthsInTurns(
  next: () => Promise<IteratorResult<QueueLength>>,
): Promise<readonly QueueLength[]> {
  const lengths: QueueLength[] = [];
  for (let read = await next(); read.done !== true; read = await next()) {
    lengths.push(read.value);
    await setImmediate();
  }
  return summedByTool(lengths);
}
