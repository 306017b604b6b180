import { inClear } from "../codec.ts";
import type { OutboxWrite } from "../outbox.ts";
import { toStored } from "../stored-text.ts";
import { byColumn } from "../tables/postgres-statements.ts";
import { deliveryTable, newDelivery } from "../tables/tables.ts";
import type { OutboxStatements } from "./outbox-sql.ts";
import type { WriteSink } from "./write-batch.ts";

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
