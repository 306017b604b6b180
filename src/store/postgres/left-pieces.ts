import { idOf, toStored } from "../row.ts";
import { mostPieces, ownersPage, type PieceDeletes } from "../left-pieces.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";

export function leftPieceStatements({ piece, task }: Pick<Names, "piece" | "task">) {
  return {
    /** Of deleted tasks. One of them exists again if a failover has undone its deletion. */
    some: `DELETE FROM ${piece} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${piece} WHERE task_id = ANY(ARRAY(
          SELECT gone FROM unnest($1::text[]) AS gone WHERE NOT EXISTS (SELECT FROM ${task} WHERE id = gone)))
        LIMIT ${mostPieces})) RETURNING 1`,
    /** The tasks behind one that have pieces, and whether they exist. */
    owners: `WITH RECURSIVE owners AS (
        (SELECT task_id FROM ${piece} WHERE task_id > $1 ORDER BY task_id LIMIT 1)
        UNION ALL SELECT (SELECT task_id FROM ${piece} AS next WHERE next.task_id > owners.task_id ORDER BY task_id LIMIT 1)
          FROM owners WHERE owners.task_id IS NOT NULL)
      SELECT task_id, EXISTS (SELECT FROM ${task} WHERE id = task_id)::int FROM owners WHERE task_id IS NOT NULL LIMIT ${ownersPage}`,
  };
}

export function leftPiecesIn(database: Pick<Database, "query">, names: Names): PieceDeletes {
  const sql = leftPieceStatements(names);
  return {
    some: async (ids) => (await database.query(sql.some, [ids.map(toStored)])).length,
    owners: async (after) =>
      (await database.query(sql.owners, [toStored(after)])).map((row) => ({
        id: idOf(row),
        exists: row[1] === 1,
      })),
  };
}
