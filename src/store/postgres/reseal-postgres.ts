import type { KeyRing } from "../encryption-keys.ts";
import { keyUsageOf, type KeyUsage } from "../key-usage.ts";
import { resealDatabase, type Resealed, type ResealSetup, type RewrittenDatabase } from "../reseal.ts";
import { withSchema } from "./compact-postgres.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { tableIn } from "./whole-schema.ts";

interface Place {
  readonly url: string;
  readonly options: { readonly schema?: string };
}

/** Old versions of rows stay in the tables until these are vacuumed, and in the log of the server. */
export async function resealPostgres(place: Place, setup: ResealSetup): Promise<Resealed> {
  return withSchema(place, (database, names) => resealDatabase(rewritten(database, names), setup));
}

export async function keyUsageOfPostgres(place: Place, keys: KeyRing | undefined): Promise<KeyUsage> {
  return withSchema(place, (database, names) => keyUsageOf(rewritten(database, names), keys));
}

function rewritten(database: Database, names: Names): RewrittenDatabase {
  return {
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
  };
}
