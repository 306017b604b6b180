import { addAbortSignal, type Readable } from "node:stream";
import { HoldfastError } from "../../task/fault.ts";
import type { Backup, RestoreSetup } from "../backup-file.ts";
import { unusableAt, withPatience } from "./connections.ts";
import type { Queries, Transaction } from "./database.ts";
import { makeSchema, usableVersion } from "./migrate.ts";
import { defaultSchema, namesIn, type Names } from "./names.ts";
import { markOriginal, type Original } from "./original-mark.ts";
import { migrations } from "./schema.ts";
import { firstNumber, tableIn, tablesOf, withoutTimeouts } from "./whole-schema.ts";

/** How long the database may take to answer (ms); the restore itself has no limit. */
const timeoutMs = 10_000;

/** About how much one statement writes. */
const wantedLength = 1024 * 1024;

/**
 * Creates a schema from a backup, in one transaction; there must be none yet. Its owners are all dead. With `beside` it may be opened while
 * others have the original open. Rejects with `configuration` if the schema has tables, and with `store_unusable` for an unusable backup.
 */
export async function restorePostgres(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  backup: Backup,
  { beside, signal }: RestoreSetup,
): Promise<void> {
  const names = namesIn(schema);
  const original = originalIn(backup);
  try {
    await withPatience(url, timeoutMs, async (database) => {
      const transaction = await database.begin();
      try {
        await transaction.query(withoutTimeouts);
        await fill(transaction, names, backup, signal);
        if (!beside) await markOriginal(transaction, names, original);
        await transaction.commit();
      } finally {
        await transaction.rollback();
      }
    });
  } catch (error) {
    throw unusableAt(url, error);
  }
}

function originalIn({ header }: Backup): Original {
  const { system, database, schema, oid } = header.original;
  if (
    header.store !== "postgres" ||
    system === undefined ||
    database === undefined ||
    schema === undefined ||
    oid === undefined
  )
    throw new HoldfastError(
      "configuration",
      "The backup is of a SQLite store. Restore it to the path of a new file.",
    );
  return { system, database, schema, oid };
}

async function fill(
  transaction: Transaction,
  names: Names,
  backup: Backup,
  signal: AbortSignal,
): Promise<void> {
  const { header } = backup;
  await usableVersion(transaction, names);
  const { schema } = names;
  if ((await tablesOf(transaction, names)).length > 0) {
    throw new HoldfastError(
      "configuration",
      `Schema ${schema} of the database already has tables, and a backup can only be restored to an empty schema. Choose another one with ?schema=NAME.`,
    );
  }
  if (header.schema > migrations.length) {
    throw new HoldfastError(
      "store_unusable",
      `The backup was written by a newer version of Holdfast (schema ${header.schema}; this version knows schema ${migrations.length}). Update Holdfast.`,
    );
  }
  await makeSchema(transaction, names, header.schema);
  await insertAll(transaction, names, addAbortSignal(signal, backup.data()));
  for (const table of await tablesOf(transaction, names)) await continueNumbers(transaction, names, table);
  await transaction.query(`UPDATE ${names.owner} SET lease_until = '-infinity'`);
  const tasks = firstNumber((await transaction.query(`SELECT count(*) FROM ${names.task}`))[0]);
  if (tasks !== header.tasks)
    throw new HoldfastError(
      "store_unusable",
      "The backup is incomplete: it has fewer or more tasks than its header says. Nothing was restored.",
    );
}

async function insertAll(queries: Queries, names: Names, data: Readable): Promise<void> {
  let table = "";
  let rows: string[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    if (rows.length > 0) {
      const into = tableIn(names, table);
      await queries.query(
        `INSERT INTO ${into} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${into}, $1::json)`,
        [`[${rows.join(",")}]`],
      );
    }
    rows = [];
    length = 0;
  };
  for await (const line of linesOf(data)) {
    if (line.startsWith("{")) {
      rows.push(line);
      length += line.length;
      if (length >= wantedLength) await flush();
    } else {
      await flush();
      table = String(JSON.parse(line));
    }
  }
  await flush();
}

/** Unlike `node:readline`, it does not split at separators that JSON may have in its texts. */
async function* linesOf(data: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of data.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Sequences continue after the existing rows. */
async function continueNumbers(queries: Queries, names: Names, table: string): Promise<void> {
  const at = tableIn(names, table);
  const columns = await queries.query(
    "SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = $1::text::regclass AND attidentity <> '' AND NOT attisdropped",
    [at],
  );
  for (const [column] of columns) {
    await queries.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), (SELECT coalesce(max("${String(column)}"), 0) + 1 FROM ${at}), false)`,
      [at, String(column)],
    );
  }
}
