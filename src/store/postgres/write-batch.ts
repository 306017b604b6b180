import type { Queries, SqlValue } from "./database.ts";
import { saysNothing } from "../../task/cause.ts";
import type { Action } from "../../task/record.ts";
import { type Codec, inClear, toStored } from "../row.ts";
import type { TableWrite } from "../table-write.ts";
import type { AdminStatements } from "./postgres-admin.ts";
import { byColumn } from "../tables/statements.ts";
import {
  actionsKeptMs,
  actionTable,
  causeMarkTable,
  deliveryTable,
  newDelivery,
  pausedToolTable,
} from "../tables/tables.ts";
import type { OutboxWrite } from "../outbox.ts";
import type { OutboxStatements } from "./postgres-outbox.ts";
import type { PieceChange } from "../../task/journal-changes.ts";
import type { Stored } from "../tables/kind.ts";
import { pieceTable } from "../tables/of-task.ts";
import type { WriteStatements } from "./task-sql.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Where the writes of a group go, in order. */
export interface WriteSink {
  /** May be sent as one statement with those before and after it, of which none sees what the others write. */
  together(sql: string, ...values: SqlValue[]): void;
  /** Sees what was written before, and is seen by what is written after it. */
  apart(sql: string, ...values: SqlValue[]): void;
}

/** Sends writes that may go together as one statement: each costs the database and this process about as much, whatever it does. */
export class WriteBatch implements WriteSink {
  readonly #queries: Queries;
  #waiting: Statement[] = [];

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  together(sql: string, ...values: SqlValue[]): void {
    this.#waiting.push({ sql, values });
  }

  apart(sql: string, ...values: SqlValue[]): void {
    this.send();
    this.#send({ sql, values });
  }

  /** Sends what waits. A failure is reported when the transaction commits. */
  send(): void {
    const last = this.#waiting.pop();
    if (last !== undefined) this.#send(inOne(this.#waiting, last));
    this.#waiting = [];
  }

  #send({ sql, values }: Statement): void {
    void this.#queries.query(sql, values).catch(() => undefined);
  }
}

/** Writes that are a transaction by themselves, as one statement. */
export class LoneWrite implements WriteSink {
  readonly #statements: Statement[] = [];
  /** False if they cannot be one statement. */
  fits = true;

  together(sql: string, ...values: SqlValue[]): void {
    this.#statements.push({ sql, values });
  }

  apart(): void {
    this.fits = false;
  }

  /** Nothing is written if `guard` fails. */
  guardedBy({ sql, values }: Statement): Statement {
    return inOne(this.#statements, { sql: `SELECT * FROM (${sql}) AS guard`, values });
  }
}

/** Postgres runs the last one first, and then the others to their ends. */
function inOne(first: readonly Statement[], last: Statement): Statement {
  const values: SqlValue[] = [];
  const numbered = (each: Statement): string => {
    const before = values.length;
    values.push(...each.values);
    return before === 0
      ? each.sql
      : each.sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  };
  const parts = first.map((each, place) => `part_${place} AS (${numbered(each)})`);
  const sql = numbered(last);
  return { sql: parts.length === 0 ? sql : `WITH ${parts.join(", ")} ${sql}`, values };
}

type AdminWrite = Extract<TableWrite, { do: "keep_action" | "pause_tool" | "resume_tool" | "mark_cause" }>;

/** The writes of operators' commands in a group. */
export class AdminWrites {
  readonly #actions: Action[] = [];
  readonly #said: Exclude<AdminWrite, { do: "keep_action" }>[] = [];

  add(write: AdminWrite): void {
    if (write.do === "keep_action") this.#actions.push(write.action);
    else this.#said.push(write);
  }

  get isEmpty(): boolean {
    return this.#actions.length + this.#said.length === 0;
  }

  send(send: (statement: string, ...values: SqlValue[]) => void, sql: AdminStatements, codec: Codec): void {
    for (const write of this.#said) {
      if (write.do === "mark_cause") {
        const { mark } = write;
        send(sql.deleteCauseMark, toStored(mark.cause));
        if (!saysNothing(mark))
          send(sql.insertCauseMark, ...byColumn([causeMarkTable.values(mark.cause, mark, codec)]));
      } else if (write.do === "resume_tool") send(sql.deletePaused, toStored(write.tool));
      else send(sql.insertPaused, ...byColumn([pausedToolTable.values("", write.paused, inClear)]));
    }
    if (this.#actions.length === 0) return;
    const rows = this.#actions.map((action) => actionTable.values("", action, inClear));
    send(sql.deleteOldActions, Math.max(...this.#actions.map(({ at }) => at)) - actionsKeptMs);
    send(sql.insertActions, ...byColumn(rows));
  }
}

type Value = string | number | null;

/** The outbox writes of a group's commands, in rows of values for one statement each. */
export class OutboxWrites {
  readonly #rows: Record<OutboxWrite["do"], Value[][]> = {
    keep_delivery: [],
    claim_delivery: [],
    retry_delivery: [],
    resend_delivery: [],
    end_delivery: [],
    drop_delivery: [],
  };

  add(write: OutboxWrite): void {
    this.#rows[write.do].push(rowOf(write));
  }

  get isEmpty(): boolean {
    return Object.values(this.#rows).every((rows) => rows.length === 0);
  }

  send(sink: WriteSink, sql: OutboxStatements): void {
    const statements: Readonly<Record<OutboxWrite["do"], string>> = {
      keep_delivery: sql.insertDeliveries,
      claim_delivery: sql.takeDeliveries,
      retry_delivery: sql.retryDeliveries,
      resend_delivery: sql.resendDeliveries,
      end_delivery: sql.endDeliveries,
      drop_delivery: sql.dropDeliveries,
    };
    for (const [name, rows] of Object.entries(this.#rows)) {
      if (rows.length === 0) continue;
      const statement = statements[name as OutboxWrite["do"]];
      if (name === "keep_delivery") sink.together(statement, ...byColumn(rows));
      else sink.apart(statement, ...byColumn(rows));
    }
  }
}

function rowOf(write: OutboxWrite): Value[] {
  switch (write.do) {
    case "keep_delivery":
      return deliveryTable.values("", newDelivery(write.delivery), inClear);
    case "claim_delivery":
      return [write.seq, write.until];
    case "retry_delivery": {
      const { seq, tries, at, unsent, failure } = write;
      const problem = failure === undefined ? null : toStored(failure.problem);
      return [seq, tries, at, failure?.at ?? null, problem, Number(unsent)];
    }
    case "resend_delivery":
      return [write.seq, write.now];
    case "end_delivery":
      return [write.seq, write.tries];
    case "drop_delivery":
      return [write.seq];
  }
}

type Send = (statement: string, ...values: SqlValue[]) => void;
type SendRows = (statement: string, rows: readonly (readonly Stored[])[]) => void;

interface Changed {
  readonly taskId: string;
  readonly key: string;
  /** Whether what is stored of it goes first. */
  isDropped: boolean;
  readonly bodies: Map<number, string>;
}

/** The writes of pieces of artifacts. */
export class PieceWrites {
  readonly #changed = new Map<string, Changed>();
  readonly #ended = new Set<string>();

  change(taskId: string, change: PieceChange): void {
    if (change.do === "drop_open") {
      this.#ended.add(taskId);
      return;
    }
    const { key } = change;
    const name = JSON.stringify([taskId, key]);
    const changed = this.#changed.get(name) ?? { taskId, key, isDropped: false, bodies: new Map() };
    this.#changed.set(name, changed);
    if (change.do === "drop" || change.seq === 0) {
      changed.isDropped = true;
      changed.bodies.clear();
    }
    if (change.do === "write") changed.bodies.set(change.seq, change.body);
  }

  remove(taskId: string): void {
    this.#ended.delete(taskId);
    for (const [name, changed] of this.#changed) if (changed.taskId === taskId) this.#changed.delete(name);
  }

  send(send: Send, sendRows: SendRows, sql: WriteStatements, codec: Codec): void {
    const all = [...this.#changed.values()];
    const dropped = all.filter(({ isDropped }) => isDropped);
    if (dropped.length > 0)
      send(
        sql.deletePieces,
        ...byColumn(dropped.map(({ taskId, key }) => [toStored(taskId), toStored(key)])),
      );
    sendRows(
      sql.insertPieces,
      all.flatMap(({ taskId, key, bodies }) =>
        [...bodies].map(([seq, body]) => pieceTable.values(taskId, { key, seq, body }, codec)),
      ),
    );
  }

  /** Once the journal is written. */
  sendEnds(send: Send, sql: WriteStatements): void {
    if (this.#ended.size > 0) send(sql.deleteOpenPieces, [...this.#ended].map(toStored));
  }
}
