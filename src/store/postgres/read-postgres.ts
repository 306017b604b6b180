import type { StoredTasks } from "../export-journal.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { Protection } from "../protection.ts";
import { openDatabase, unusableAt } from "./connections.ts";
import { prepareSchema } from "./migrate.ts";
import { defaultSchema, namesIn } from "./names.ts";
import { PostgresReader } from "./postgres-reader.ts";

const connections = 2;
const timeoutMs = 5_000;

/**
 * Reads tasks of a schema without being one of its owners. Changes nothing. Rejects with `store_unusable` if there is no such database, or
 * if the schema is not ours or of another version.
 */
export async function readPostgres<T>(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys?: KeyRing,
): Promise<T> {
  const names = namesIn(schema);
  const database = await openDatabase({ url, max: connections, timeoutMs });
  try {
    await prepareSchema(database, names, undefined);
    const reader = new PostgresReader(database, names);
    const sealing = await Protection.readOnly(() => reader.secrets(), keys);
    if (sealing !== undefined) database.codecs.use(sealing);
    return await read(reader);
  } catch (error) {
    throw unusableAt(url, error);
  } finally {
    await database.close();
  }
}
