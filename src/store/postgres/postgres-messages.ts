import type { Names } from "./names.ts";
import { messageTable, queuedMessage } from "../tables/of-task.ts";
import { HoldfastError } from "../../task/fault.ts";
import { StoreLost } from "../lost-store.ts";
import type { MessageQueues, NewMessage, PutMessageResult } from "../session-store.ts";
import { type Codec, columnsOf, integer, type Row, toStored } from "../row.ts";
import type { Database } from "./database.ts";
import type { Owners } from "./ownership.ts";
import { messageOf, storeFailed } from "./postgres-error.ts";

/** Runs work for the same name in the order of its requests. Work can have several names. */
export class InOrder {
  /** The end of the last requested work, for each name with waiting work. */
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const over = done.catch(() => undefined);
    this.#last.set(name, over);
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === over) this.#last.delete(name);
    }
  }
}

/**
 * The statements for sessions. Those that change or delete sessions also add news for the owners. Statements that lock several rows take
 * them in order of their ids. Ids come in arrays, for which no plan reads the whole table.
 */
export function sessionStatements(names: Names) {
  const { session, sessionNews } = names;
  const newsOf = (changed: string, owner: string): string =>
    `INSERT INTO ${sessionNews} (owner, session) SELECT ${owner}, id FROM ${changed} RETURNING session`;
  return {
    lockPuts: "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
    /**
     * First, sessions of the same principal make room. Then, while there are too many, sessions of the principal with most go, those that
     * end first first: each principal's sessions are numbered from the one that ends last, and the highest numbers go.
     */
    put: `WITH own AS (
        SELECT id FROM ${session} WHERE principal = $2 AND id <> $1 ORDER BY expires_at, id
        LIMIT (SELECT greatest(0, count(*) - $5::bigint + 1) FROM ${session} WHERE principal = $2 AND id <> $1)
      ), numbered AS (
        SELECT id, expires_at, row_number() OVER (PARTITION BY principal ORDER BY expires_at DESC, id DESC) AS number
        FROM ${session} WHERE id <> $1 AND id NOT IN (SELECT id FROM own)
      ), first AS (
        SELECT id FROM numbered ORDER BY number DESC, expires_at, id
        LIMIT (SELECT greatest(0, count(*) - (SELECT count(*) FROM own) - $6::bigint + 1) FROM ${session} WHERE id <> $1)
      ), held AS (
        SELECT id FROM ${session} WHERE id = ANY (ARRAY(SELECT id FROM own UNION ALL SELECT id FROM first)) ORDER BY id FOR UPDATE
      ), gone AS (
        DELETE FROM ${session} WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING id
      ), added AS (
        INSERT INTO ${session} (id, principal, expires_at, state) VALUES ($1, $2, $3, $4)
        ON CONFLICT (id) DO UPDATE
        SET principal = excluded.principal, expires_at = excluded.expires_at, state = excluded.state
      ) ${newsOf("gone", "$7")}`,
    update: `WITH changed AS (UPDATE ${session} SET state = $2 WHERE id = $1 AND state = $3 RETURNING id)
      ${newsOf("changed", "$4")}`,
    extend: `WITH ends AS (
        SELECT id, max(expires_at) AS expires_at FROM unnest($1::text[], $2::bigint[]) AS each (id, expires_at) GROUP BY id
      ), held AS (
        SELECT session.id, ends.expires_at FROM ${session} JOIN ends ON session.id = ends.id
        WHERE session.expires_at < ends.expires_at ORDER BY session.id FOR UPDATE OF session
      )
      UPDATE ${session} SET expires_at = held.expires_at FROM held
      WHERE session.id = held.id AND session.expires_at < held.expires_at`,
    delete: `WITH held AS (SELECT id FROM ${session} WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE),
      gone AS (DELETE FROM ${session} WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING id)
      ${newsOf("gone", "$2")}`,
    deleteUnextended: `WITH held AS (
        SELECT session.id FROM unnest($1::text[], $2::bigint[]) AS ends (id, expires_at)
        JOIN ${session} ON session.id = ends.id AND session.expires_at <= ends.expires_at
        ORDER BY session.id FOR UPDATE OF session
      ), gone AS (DELETE FROM ${session} WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING id)
      ${newsOf("gone", "$3")}`,
    /** Does not wait for another process that deletes them too. */
    deleteExpired: `WITH ended AS (
        SELECT id FROM ${session} WHERE expires_at <= $1 ORDER BY expires_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
      ) DELETE FROM ${session} WHERE id = ANY (ARRAY(SELECT id FROM ended)) RETURNING id`,
  };
}

/** The statements for news about sessions. */
export function newsStatements({ sessionNews }: Names) {
  return {
    /** Only living owners need it, so it does not wait for the disk. */
    send: `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
      INSERT INTO ${sessionNews} (session, message, owner) SELECT $1, $2, $3 FROM quick`,
    /** The highest numbers; a row with only the time if there are none. */
    selectLast: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, news.seq
      FROM (SELECT 1) AS always LEFT JOIN (SELECT seq FROM ${sessionNews} ORDER BY seq DESC LIMIT $1) AS news ON true
      ORDER BY news.seq`,
    /** The news after $1, and those in $2 before it; a row with the time and the highest number if there are none. */
    select: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, (SELECT max(seq) FROM ${sessionNews}),
        news.seq, news.owner, news.session, news.message
      FROM (SELECT 1) AS always LEFT JOIN (
        (SELECT seq, owner, session, message FROM ${sessionNews} WHERE seq = ANY($2::bigint[]))
        UNION ALL (SELECT seq, owner, session, message FROM ${sessionNews} WHERE seq > $1 ORDER BY seq LIMIT $3)
      ) AS news ON true ORDER BY news.seq`,
    deleteOld: `WITH old AS (
        SELECT seq FROM ${sessionNews} WHERE at < statement_timestamp() - $1 * interval '1 ms' ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
      ) DELETE FROM ${sessionNews} WHERE seq = ANY (ARRAY(SELECT seq FROM old)) RETURNING seq`,
  };
}

/** The statements for the queues of tasks. */
export function messageStatements({ task, message, owner }: Names) {
  return {
    /** A writer has the queue to itself, and its task is not deleted meanwhile. */
    lockTask: `SELECT id FROM ${task} WHERE id = $1 FOR NO KEY UPDATE`,
    put: `WITH of AS (SELECT id FROM ${task} WHERE id = $1), added AS (
        INSERT INTO ${message} (task_id, body, owner) SELECT id, $2, $3 FROM of
        WHERE $4::bigint IS NULL OR (SELECT count(*) FROM ${message} WHERE task_id = $1) < $4 RETURNING seq
      ) SELECT (SELECT count(*) FROM of), (SELECT count(*) FROM added)`,
    /**
     * Messages bound to another owner are useless to this one. Returns a row without a message if there is none, and no row for a retired
     * owner.
     */
    first: `SELECT ${queuedMessage.list("first")} FROM ${owner} AS own LEFT JOIN LATERAL (
        SELECT ${queuedMessage.list()} FROM ${message} WHERE task_id = $1 AND (owner IS NULL OR owner = $2) ORDER BY seq LIMIT $3
      ) AS first ON true WHERE own.id = $2 AND own.retired = 0 ORDER BY first.seq`,
    delete: `DELETE FROM ${message} WHERE seq = ANY($1::bigint[]) RETURNING seq`,
  };
}

const putAt = columnsOf(["tasks", "added"]);
const seqAt = columnsOf(["seq"]);

/** What messages need from an open store. */
interface MessageParts {
  readonly database: Database;
  readonly owner: string;
  readonly owners: Pick<Owners, "write">;
}

/**
 * The queues of tasks. In each queue, the messages of this process are in the order of its calls, with those of other processes in between.
 */
export class PostgresMessages implements MessageQueues {
  readonly #sql: ReturnType<typeof messageStatements>;
  /** Throws `store_closed` unless the store is open. */
  readonly #open: () => MessageParts;
  readonly #calls = new InOrder();
  readonly #schema: string;

  constructor(names: Names, open: () => MessageParts) {
    this.#schema = names.schema;
    this.#sql = messageStatements(names);
    this.#open = open;
  }

  async put(taskId: string, message: NewMessage, maxMessages: number | null): Promise<PutMessageResult> {
    this.#open();
    return this.#calls.run(taskId, () => this.#put(taskId, message, maxMessages));
  }

  async take(taskId: string, limit: number | null): Promise<readonly string[]> {
    this.#open();
    return this.#calls.run(taskId, () => this.#take(taskId, limit));
  }

  async #put(
    taskId: string,
    { body, bound }: NewMessage,
    maxMessages: number | null,
  ): Promise<PutMessageResult> {
    const { database, owner, owners } = this.#open();
    const row = messageTable.values(taskId, { body, owner: bound ? owner : null }, database.codecs.writing);
    try {
      const [, [put]] = await owners.write((queries) =>
        Promise.all([
          queries.query(this.#sql.lockTask, [toStored(taskId)]),
          queries.query(this.#sql.put, [...row, maxMessages]),
        ]),
      );
      if (put === undefined || integer(put, putAt.tasks) === 0) return { ok: false, reason: "unknown" };
      return integer(put, putAt.added) === 0 ? { ok: false, reason: "full" } : { ok: true };
    } catch (error) {
      throw storeFailed(error);
    }
  }

  /** Reads messages before it deletes them, so that unreadable ones stay. */
  async #take(taskId: string, limit: number | null): Promise<readonly string[]> {
    const { database, owner, owners } = this.#open();
    const id = toStored(taskId);
    const taken: string[] = [];
    for (;;) {
      const rest = limit === null ? null : limit - taken.length;
      const rows = await database.read(this.#sql.first, [id, owner, rest]);
      if (rows.length === 0) throw new StoreLost(`schema ${this.#schema}`, true);
      const found = bodiesIn(taskId, rows, database.codecs.reading);
      if (found.size === 0) return taken;
      const deleted = await this.#delete(owners, [...found.keys()]);
      const ours = new Set(deleted.map((row) => integer(row, seqAt.seq)));
      for (const [seq, body] of found) if (ours.has(seq)) taken.push(body);
      if (ours.size === found.size) return taken;
      // Other processes took some; there may be more after these.
    }
  }

  async #delete(owners: Pick<Owners, "write">, seqs: readonly number[]): Promise<readonly Row[]> {
    try {
      return await owners.write((queries) => queries.query(this.#sql.delete, [seqs]));
    } catch (error) {
      throw storeFailed(error);
    }
  }
}

/** The bodies by their positions. Throws `task_unreadable` if one is damaged. */
function bodiesIn(taskId: string, rows: readonly Row[], codec: Codec): Map<number, string> {
  try {
    const there = rows.filter(([seq]) => seq !== null);
    const messages = there.map((row) => queuedMessage.read(taskId, row, codec));
    return new Map(messages.map(({ seq, body }) => [seq, body]));
  } catch (error) {
    throw new HoldfastError("task_unreadable", `Task ${taskId} cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}
