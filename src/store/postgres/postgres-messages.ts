import { HoldfastError } from "../../task/fault.ts";
import { StoreLost } from "../lost-store.ts";
import type { MessageQueues, NewMessage, PutMessageResult } from "../message-queues.ts";
import type { Codec } from "../codec.ts";
import { messageTable, queuedMessage } from "../tables/of-task.ts";
import { columnsOf, integer, type Row } from "../row.ts";
import { toStored } from "../stored-text.ts";
import type { Database } from "./database.ts";
import { InOrder } from "./in-order.ts";
import type { Names } from "./names.ts";
import type { Owners } from "./ownership.ts";
import { messageOf, storeFailed } from "./postgres-error.ts";
import { messageStatements } from "./session-sql.ts";

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
