import type { PieceChange } from "../../task/journal-changes.ts";
import type { Codec } from "../codec.ts";
import { toStored } from "../stored-text.ts";
import type { Stored } from "../tables/kind.ts";
import { pieceTable } from "../tables/of-task.ts";
import { byColumn } from "../tables/postgres-statements.ts";
import type { SqlValue } from "./database.ts";
import type { WriteStatements } from "./task-sql.ts";

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
