import { setImmediate } from "node:timers/promises";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import { type AdminStore, type NodeReports, type QueueLength, summedByTool } from "../admin-store.ts";
import type { JournalPage, Renewal, ReserveMemory, StoreChanges, TaskStore } from "../store.ts";
import { ChangeFeed } from "../lifecycle.ts";
import type { LimitStore } from "../limits.ts";
import type { MessageQueues, SessionCommand, SessionNews, SessionStore } from "../session-store.ts";
import { limitPlacesOf } from "../limit-sql.ts";
import { adminReads, reportsBetween } from "../admin-reads.ts";
import type { Reading } from "../dialect.ts";
import { secretsOf, sessionReads } from "../task-reads.ts";
import { type StoreParts, TableStore } from "../table-store.ts";
import type { LoggedChanges } from "./change-log.ts";
import type { OtherOwners } from "./sqlite-owners.ts";
import { readTask } from "./statements.ts";
import { messageOf } from "./sqlite-error.ts";
import type { SqliteReader } from "./sqlite-reader.ts";
import * as sql from "./admin-sql.ts";
import { limitStatements } from "./sqlite-limits.ts";
import type { Sealing } from "../cipher.ts";
import { LeftPieces } from "../left-pieces.ts";
import type { Codec } from "../row.ts";
import { taskStatements } from "./sql.ts";
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

type Parts = OpenDatabase & StoreParts;

/** Tasks in a SQLite database. */
export class StoreOnSqlite extends TableStore<Parts> implements TaskStore {
  readonly #place: string;
  readonly #opening: Opening;
  readonly #sessionFeed = new ChangeFeed<SessionNews>();

  /** `place` names the database in messages. */
  constructor(place: string, opening: Opening) {
    super(taskStatements, sql.outboxStatements);
    this.#place = place;
    this.#opening = opening;
  }

  protected async join(owner: StoreOwner): Promise<Parts> {
    const leftPieces = new LeftPieces({
      some: async (ids) => (await this.opened().writer.write({ type: "left_pieces", ids })).count,
      owners: (after) => this.pieceOwners(after),
    });
    const database = await this.#opening(owner, {
      committed: (changes, commands) => {
        leftPieces.saw(changes);
        this.committed(changes, commands);
      },
      committedByOthers: ({ tasks, sessions }) => {
        this.feed.publish(tasks, "others");
        this.#sessionFeed.publish(sessions, "others");
      },
    });
    const { reader } = database;
    return { ...database, leftPieces, secrets: (name) => reader.read(() => secretsOf(this.sql, name)) };
  }

  protected async readFrom<T>(
    { reader }: Parts,
    reading: (codec: Codec) => Reading<T>,
    task: string | undefined,
  ): Promise<T> {
    return this.#reading(() =>
      task === undefined ? reader.read(reading) : readTask(task, () => reader.read(reading)),
    );
  }

  protected async apply(database: Parts, command: TaskCommand): Promise<CommandResult> {
    const result = await database.writer.write(command);
    if (command.type === "reclaim" && result.ok && "next" in result && result.next === null)
      database.forget(command.owner);
    return result;
  }

  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    await this.opened().writer.write({ type: "handlers", handlers });
  }

  async renew(): Promise<Renewal> {
    const database = this.opened();
    const lost = database.writer.dead ?? (await database.lost?.());
    if (lost !== undefined) return { held: false, gone: [], others: 0, lost };
    return this.protection.renewed(() => this.#reading(() => this.opened().others.renew()));
  }

  readonly sessions: SessionStore = {
    ...sessionReads(taskStatements, this.read),
    put: async (session, room) => void (await this.#writeSessions({ type: "put_session", session, room })),
    update: async (id, state, before) =>
      (await this.#writeSessions({ type: "update_session", id, state, before })) > 0,
    extend: async (ends) => void (await this.#writeSessions({ type: "extend_sessions", ends })),
    delete: async (ids) => void (await this.#writeSessions({ type: "delete_sessions", ids })),
    deleteUnextended: async (ends) =>
      void (await this.#writeSessions({ type: "delete_unextended_sessions", ends })),
    deleteExpired: (now, limit) => this.#writeSessions({ type: "delete_expired_sessions", now, limit }),
    send: async (id, message) => void (await this.#writeSessions({ type: "send_to_session", id, message })),
    subscribe: (listener) => this.#sessionFeed.subscribe(listener),
  };

  readonly admin: AdminStore = {
    ...adminReads(sql.adminStatements, sql.bulkStatements, this.read),
    queues: async (most) => {
      const lengths = await this.#read((reader) => reader.queueLengths(most));
      return lengthsInTurns(() => this.#read(() => lengths.next()));
    },
  };

  readonly reports: NodeReports = {
    write: async (report, oldest) => {
      await this.opened().writer.write({ type: "report", ...report, oldest });
    },
    between: reportsBetween(sql.reportStatements, this.read),
    owners: async (most) => {
      const running = await this.read(() => sql.runningTasks(most));
      return this.opened()
        .others.living()
        .map(({ id, drainUntil }) => ({ id, running: running.get(id) ?? 0, drainUntil }));
    },
  };

  readonly messages: MessageQueues = {
    put: async (taskId, message, maxMessages) => {
      const command = { type: "put_message", taskId, message, maxMessages } as const;
      return (await this.opened().writer.write({ type: "messages", command })).put;
    },
    take: async (taskId, limit) => {
      const command = { type: "take_messages", taskId, limit } as const;
      return (await this.opened().writer.write({ type: "messages", command })).taken;
    },
  };

  readonly limits: LimitStore = {
    call: async (call) => this.opened().writer.write({ type: "limits", call }),
    ofTask: (taskId) => limitPlacesOf(limitStatements, this.read, taskId),
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

  override journal(id: string, from: string, limit: number): Promise<JournalPage> {
    return this.#readTask(id, (reader) => reader.journal(id, from, limit));
  }

  hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean> {
    return this.#read((reader) => reader.hasClaimable(handlers, this.opened().owner));
  }

  orphanedHandlers(): Promise<readonly HandlerName[]> {
    return this.#read((reader) => reader.orphanedHandlers());
  }

  nextSweepAt(after: number): Promise<number | null> {
    return this.#read((reader) => reader.nextSweepAt(after));
  }

  /** Resolves with the number of sessions that it changed or deleted. */
  async #writeSessions(command: SessionCommand): Promise<number> {
    const { count, news } = await this.opened().writer.write({ type: "sessions", command });
    this.#sessionFeed.publish(news, "self");
    return count;
  }

  /** Like `#read`, for the stored data of one task: damage affects only that task. */
  #readTask<T>(id: string, read: (reader: SqliteReader) => T): Promise<T> {
    return this.#read((reader) => readTask(id, () => read(reader)));
  }

  async #read<T>(read: (reader: SqliteReader) => T): Promise<T> {
    const { reader } = this.opened();
    return this.#reading(() => read(reader));
  }

  #reading<T>(read: () => T): T {
    try {
      return read();
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
