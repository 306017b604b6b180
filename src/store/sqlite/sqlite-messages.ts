import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MessageCommand, MessageResult } from "../message-command.ts";
import type { PutMessageResult } from "../message-queues.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, integer, text } from "../row.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

const countAt = columnsOf(["count"]);
const messageAt = columnsOf(["seq", "body"]);

type Put = Extract<MessageCommand, { readonly type: "put_message" }>;

/** The queues of tasks, on the write connection. The caller has begun a transaction. */
export class SqliteMessages {
  readonly #hasTask: RowStatement;
  readonly #insert: StatementSync;
  readonly #count: RowStatement;
  readonly #first: RowStatement;
  readonly #deleteTo: StatementSync;
  readonly #owner: string;

  constructor(db: DatabaseSync, owner: string) {
    this.#owner = owner;
    this.#hasTask = prepareRows(db, sql.selectHasTask);
    this.#insert = db.prepare(sql.insertMessage);
    this.#count = prepareRows(db, sql.countMessages);
    this.#first = prepareRows(db, sql.selectMessages);
    this.#deleteTo = db.prepare(sql.deleteMessagesTo);
  }

  apply(command: MessageCommand): MessageResult {
    switch (command.type) {
      case "put_message":
        return { put: this.#put(command), taken: [] };
      case "take_messages":
        return { put: { ok: true }, taken: this.#take(command.taskId, command.limit) };
    }
  }

  #put({ taskId, message, maxMessages }: Put): PutMessageResult {
    const id = toStored(taskId);
    if (this.#hasTask.get(id) === undefined) return { ok: false, reason: "unknown" };
    if (maxMessages !== null && this.#countOf(id) >= maxMessages) return { ok: false, reason: "full" };
    this.#insert.run(id, toStored(message.body), message.bound ? this.#owner : null);
    return { ok: true };
  }

  #countOf(id: string): number {
    const row = this.#count.get(id);
    return row === undefined ? 0 : integer(row, countAt.count);
  }

  #take(taskId: string, limit: number | null): readonly string[] {
    const id = toStored(taskId);
    const rows = this.#first.all(id, this.#owner, limit ?? -1);
    const last = rows.at(-1);
    // Mostly nothing waits, and a transaction that writes nothing costs no fsync.
    if (last !== undefined) this.#deleteTo.run(id, this.#owner, integer(last, messageAt.seq));
    return readTask(taskId, () => rows.map((row) => text(row, messageAt.body)));
  }
}
