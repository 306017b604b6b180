import type { Client } from "pg";
import type { StoreOwner } from "../../task/queue.ts";
import { refuseWhileLoading } from "../load-mark.ts";
import type { StoreChanges, TaskChange } from "../store.ts";
import { ChangeChannel } from "./change-channel.ts";
import { connectDirectly, openDatabase, unusableAt, withPatience } from "./connections.ts";
import { GroupWriter } from "./group-writer.ts";
import { LeftPieces, mostPieces } from "../left-pieces.ts";
import { loadMark, refuseBesideOriginal } from "./original-mark.ts";
import { migrateSchema, prepareSchema } from "./migrate.ts";
import type { Settings } from "./options.ts";
import { Owners } from "./ownership.ts";
import { PostgresReader } from "./postgres-reader.ts";
import type { PostgresSessions } from "./postgres-sessions.ts";
import { mostToReplica, Replica } from "./replica.ts";
import { Servers, WorkSharing } from "./work-sharing.ts";
import { assertBegins, assertConnections, assertTransactions } from "./suitable.ts";
import { WriteQueue } from "./write-queue.ts";
import { countLock, usageStatements } from "./task-sql.ts";
import { toStored } from "../row.ts";
import type { StoreParts } from "../table-store.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";

/** How often a process without notifications looks for changes (ms). */
const pollIntervalMs = 1_000;

export interface OpenSetup {
  readonly url: string;
  readonly settings: Settings;
  readonly names: Names;
  readonly owner: StoreOwner;
  readonly sessions: PostgresSessions;
  readonly onCommit: (changes: readonly TaskChange[], commands: number) => void;
  /** Called with what others have committed. */
  readonly onChanges: (changes: StoreChanges) => void;
  readonly onListening: (isListening: boolean) => void;
}

/** The parts of an open store. */
export interface OpenParts extends StoreParts {
  /** The id of the owner. */
  readonly owner: string;
  readonly database: Database;
  readonly owners: Owners;
  readonly reader: PostgresReader;
  /** For lists and charts. */
  readonly replica: Replica | undefined;
  readonly queue: WriteQueue;
  readonly channel: ChangeChannel;
  readonly work: WorkSharing;
}

/** Connects to the database, upgrades its schema, and becomes one of its owners. Rejects with `store_unusable` if it cannot be used. */
export async function openParts(setup: OpenSetup): Promise<OpenParts> {
  const { url, settings, names } = setup;
  const { timeoutMs, maxConnections, migrate, preparedStatements: prepares } = settings;
  try {
    const database = await openDatabase({ url, max: maxConnections, timeoutMs, prepares });
    const patiently = (): Promise<unknown> =>
      withPatience(url, timeoutMs, (patient) => migrateSchema(patient, names));
    try {
      await assertBegins(database);
      await prepareSchema(database, names, migrate ? patiently : undefined);
      await refuseBesideOriginal(database, url, names, settings.leaseMs);
      return await join(setup, database);
    } catch (error) {
      await database.close();
      throw error;
    }
  } catch (error) {
    throw unusableAt(url, error);
  }
}

async function join(setup: OpenSetup, database: Database): Promise<OpenParts> {
  const { url, settings, names, owner, sessions, onCommit, onChanges, onListening } = setup;
  const { directUrl, readUrl, timeoutMs, leaseMs, preparedStatements: prepares } = settings;
  // Of its own, so that no read delays a renewal.
  const leases = await openDatabase({ url, max: 1, timeoutMs, prepares });
  const copy =
    readUrl === undefined
      ? undefined
      : await openDatabase({ url: readUrl, max: mostToReplica, timeoutMs, prepares, isReplica: true });
  const owners = new Owners(database, names, owner, leaseMs, leases);
  const work = new WorkSharing({ send: (news) => channel.send(news) });
  const rechecks = new RecheckQueue((ids) => {
    onChanges(ids.map((id) => ({ id, version: 0 }))); // no copy is older, so nothing is reread
    work.look();
  });
  const onPassed = (ids: readonly string[]): void => rechecks.add(ids);
  const emptyCounts = new EmptyCounts(database, names);
  const reader = new PostgresReader(database, names);
  const leftPieces = new LeftPieces({
    some: async (ids) => (await database.query(leftPieceStatements(names).some, [ids.map(toStored)])).length,
    owners: (after) => reader.pieceOwners(after),
  });
  const writer = new GroupWriter({
    database,
    names,
    owners,
    timeoutMs,
    onPassed,
    onFewer: (keys) => emptyCounts.add(keys),
    onClaimable: (tasks) => work.offer(tasks),
  });
  const queue = new WriteQueue({
    writer,
    timeoutMs,
    onCommit: (changes, commands) => {
      database.wrote(commands);
      leftPieces.saw(changes);
      onCommit(changes, commands);
    },
  });
  const channel = new ChangeChannel({
    names,
    owner: owner.id,
    connect: connectTo(directUrl, timeoutMs),
    database,
    pollIntervalMs,
    onListening,
    listener: {
      tasks: onChanges,
      sessions: () => void sessions.readNews(),
      messages: () => void sessions.readNews(),
      work: (tasks) => (tasks === undefined ? work.look() : work.tell(tasks)),
      heard: (from, worker) => work.hear(from, worker),
    },
  });
  const end = async (): Promise<void> => {
    rechecks.close();
    work.close();
    await channel.close();
    await Promise.all([leases.close(), copy?.close()]);
  };
  try {
    await assertConnections(database, leases);
    await channel.start();
    await owners.register();
    await assertTransactions(database, names, owner.id);
    await refuseAfterRegistering(database, names, owners);
    channel.send("gap");
    await sessions.start(database, owner.id);
  } catch (error) {
    await end();
    throw error;
  }
  const replica = copy && new Replica(names, owner.id, database, copy);
  const close = async (): Promise<void> => {
    await queue.close();
    await owners.leave().catch(() => undefined); // if this fails, the others find out from its lease
    channel.send("gap");
    await end();
    await emptyCounts.close();
    await database.close();
  };
  return {
    owner: owner.id,
    database,
    owners,
    reader,
    replica,
    secrets: new PostgresReader(leases, names).secrets,
    encrypt: (sealing) => database.codecs.use(sealing),
    queue,
    channel,
    work,
    leftPieces,
    close,
  };
}

/** Opens connections that bypass a pooler; undefined if there are none. */
function connectTo(directUrl: string | null, timeoutMs: number): (() => Promise<Client>) | undefined {
  if (directUrl === null) return undefined;
  const servers = new Servers(directUrl);
  return () => connectDirectly(servers, timeoutMs);
}

/** A load that began meanwhile has seen the owner, or is seen here. */
async function refuseAfterRegistering(database: Database, names: Names, owners: Owners): Promise<void> {
  try {
    refuseWhileLoading(
      `Schema ${names.schema} of the database`,
      (await loadMark(database, names)) !== undefined,
    );
  } catch (error) {
    await owners.leave();
    throw error;
  }
}

/** By then, transactions that had a task locked have committed (ms). */
const pauseMs = 20;

/** Tasks that could not be claimed because others had them locked: those usually claim them, but some may be left. */
export class RecheckQueue {
  readonly #look: (ids: readonly string[]) => void;
  #ids: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(look: (ids: readonly string[]) => void) {
    this.#look = look;
  }

  add(ids: readonly string[]): void {
    this.#ids.push(...ids);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look(this.#ids.splice(0));
    }, pauseMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Deletes the counts of principals with no tasks left, after the tasks and in the background. Creating a task locks its counts; a locked
 * count does not stay empty for long.
 */
export class EmptyCounts {
  readonly #database: Database;
  readonly #schema: string;
  readonly #sql: ReturnType<typeof usageStatements>;
  #keys = new Set<string>();
  #deleting: Promise<void> | undefined;

  constructor(database: Database, names: Names) {
    this.#database = database;
    this.#schema = names.schema;
    this.#sql = usageStatements(names);
  }

  /** These principals have fewer tasks now. */
  add(keys: readonly string[]): void {
    for (const key of keys) this.#keys.add(key);
    if (this.#keys.size > 0) this.#deleting ??= this.#deleteAll();
  }

  /** Resolves when no delete is running. */
  async close(): Promise<void> {
    await this.#deleting;
  }

  async #deleteAll(): Promise<void> {
    while (this.#keys.size > 0) {
      const keys = [...this.#keys];
      this.#keys = new Set();
      // The rest stays until more tasks of the same principal are deleted.
      await this.#delete(keys).catch(() => undefined);
    }
    this.#deleting = undefined;
  }

  async #delete(keys: readonly string[]): Promise<void> {
    const transaction = await this.#database.begin();
    try {
      const names = keys.map((key) => countLock(this.#schema, key));
      const locked = await transaction.query(this.#sql.tryLock, [keys, names]);
      if (locked.length === 0) return;
      // In a separate statement, which sees what was committed before the locks were free.
      void transaction
        .query(this.#sql.deleteEmpty, [locked.map(([key]) => String(key))])
        .catch(() => undefined);
      await transaction.commit();
    } finally {
      await transaction.rollback();
    }
  }
}

export function leftPieceStatements({ piece, task }: Pick<Names, "piece" | "task">) {
  return {
    /** Of deleted tasks. One of them exists again if a failover has undone its deletion. */
    some: `DELETE FROM ${piece} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${piece} WHERE task_id = ANY(ARRAY(
          SELECT gone FROM unnest($1::text[]) AS gone WHERE NOT EXISTS (SELECT FROM ${task} WHERE id = gone)))
        LIMIT ${mostPieces})) RETURNING 1`,
  };
}
