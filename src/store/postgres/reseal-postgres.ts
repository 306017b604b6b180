import { resealDatabase, type Resealed, type ResealSetup } from "../reseal.ts";
import { withSchema } from "./compact-postgres.ts";
import { tableIn } from "./whole-schema.ts";

/** Old versions of rows stay in the tables until these are vacuumed, and in the log of the server. */
export async function resealPostgres(
  place: { readonly url: string; readonly options: { readonly schema?: string } },
  setup: ResealSetup,
): Promise<Resealed> {
  return withSchema(place, (database, names) =>
    resealDatabase(
      {
        named: (table) => tableIn(names, table),
        parameter: (at) => `$${at}`,
        same: "IS NOT DISTINCT FROM",
        news: "session_news",
        read: (sql, values) => database.query(sql, values),
        async write(statements) {
          const transaction = await database.begin();
          try {
            const changed = await Promise.all(
              statements.map(({ sql, values }) => transaction.query(`${sql} RETURNING 1`, values)),
            );
            await transaction.commit();
            return changed.reduce((sum, rows) => sum + rows.length, 0);
          } finally {
            await transaction.rollback();
          }
        },
      },
      setup,
    ),
  );
}
