import { unusableAt, withPatience } from "./connections.ts";
import type { Database } from "./database.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { firstNumber, tableIn, tablesOf } from "./whole-schema.ts";

interface Place {
  readonly url: string;
  readonly options: { readonly schema?: string };
}

/** How long the database may take to answer (ms); a rewrite has no limit. */
const timeoutMs = 10_000;

/** The size of a schema's tables on disk, with their indexes, in bytes. */
export async function sizeOfPostgres(place: Place): Promise<number> {
  return withSchema(place, async (database, { schema }) => {
    const sum =
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'";
    return firstNumber((await database.query(sum, [schema]))[0]);
  });
}

/** Frees unused space. With `rewrite` the tables are rewritten, one by one; others that use a table wait meanwhile. */
export async function compactPostgres(place: Place, rewrite: boolean): Promise<void> {
  await withSchema(place, (database, names) => compactTables(database, names, rewrite));
}

export async function compactTables(database: Database, names: Names, rewrite: boolean): Promise<void> {
  for (const table of await tablesOf(database, names))
    await database.query(`VACUUM (${rewrite ? "FULL, " : ""}ANALYZE) ${tableIn(names, table)}`);
}

/** Runs `work` on a connection without time limits. */
export async function withSchema<T>(
  { url, options: { schema = defaultSchema } }: Place,
  work: (database: Database, names: Names) => Promise<T>,
): Promise<T> {
  const names = namesIn(schema);
  try {
    return await withPatience(url, timeoutMs, async (database) => {
      await database.query("SET statement_timeout = 0");
      return work(database, names);
    });
  } catch (error) {
    throw unusableAt(url, error);
  }
}
