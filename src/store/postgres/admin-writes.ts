import { saysNothing } from "../../task/cause.ts";
import type { Action } from "../../task/record.ts";
import { inClear, type Codec } from "../codec.ts";
import { toStored } from "../stored-text.ts";
import type { TableWrite } from "../table-write.ts";
import type { AdminStatements } from "./admin-sql.ts";
import { byColumn } from "../tables/postgres-statements.ts";
import { actionTable, actionsKeptMs, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
import type { SqlValue } from "./database.ts";

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
