import { randomUUID } from "node:crypto";
import { DecryptionError, isSealed } from "../task/stored-text.ts";
import { Cipher, keyIdOf } from "./cipher.ts";
import { type Codec, newsPlace, type Place, type Row, secretPlace, text } from "./row.ts";
import type { KeyRing } from "./encryption-keys.ts";
import { check, isCopyOf, secretsIn } from "./secrets.ts";
import { Protection, storeId, unsealed } from "./protection.ts";
import type { Stored } from "./tables/kind.ts";
import { pieceTable } from "./tables/of-task.ts";
import { tables } from "./tables/tables.ts";
import type { AnyTable } from "./tables/table.ts";
import { recordColumns, recordIn, rowOf, taskTable } from "./tables/task.ts";

/**
 * Seals everything in a store with the first key, while servers run: texts in clear, and those sealed with other keys.
 * - The store is marked as encrypted first, so servers without keys stop at their next renewal. Until all is sealed, it says so in a secret that
 *   is sealed itself: only then are texts in clear accepted.
 * - A row is replaced only if it is still what was read: what servers write meanwhile counts, and is looked at again.
 * - Can be stopped at any time: the next run goes on.
 */

/** A database, apart from its owners' stores. */
export interface RewrittenDatabase {
  /** How statements name a table, and the comparison of values that may be NULL. */
  readonly named: (table: string) => string;
  readonly same: string;
  /** The table of what processes tell each other about sessions. */
  readonly news: string;
  read(sql: string, values: readonly Stored[]): Promise<readonly Row[]>;
  /** Runs statements in one transaction. Resolves with the number of rows that they changed. */
  write(statements: readonly Statement[]): Promise<number>;
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly Stored[];
}

export interface Resealed {
  /** Rows that were sealed anew, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Rows that cannot be opened, by table: they stay as they are. */
  readonly left: Readonly<Record<string, number>>;
  /** Whether texts in clear are refused from now on. In a store that was in clear, they are once nothing is left. */
  readonly isStrict: boolean;
}

export interface ResealSetup {
  readonly keys: KeyRing;
  /** Waits until servers that store in clear have noticed that the store is encrypted. */
  readonly pause: () => Promise<unknown>;
}

export async function resealDatabase(
  database: RewrittenDatabase,
  { keys, pause }: ResealSetup,
): Promise<Resealed> {
  await mark(database, keys);
  const sealing = await Protection.readOnly(() => secretsOf(database), keys);
  if (sealing === undefined) throw new Error("The store has lost its mark.");
  const isOpen = !sealing.isStrict;
  if (isOpen) await pause();
  const cipher = new Cipher(sealing);
  const rows = new Map<string, number>();
  let left = new Map<string, number>();
  for (let isDone = false; !isDone;) {
    left = new Map();
    isDone = (await resealSecrets(database, cipher)) === 0;
    for (const table of sealedTables(database)) {
      const { changed, missed, failed } = await resealTable(database, table, cipher);
      add(rows, table.table, changed);
      add(left, table.table, failed);
      isDone &&= changed === 0 && missed === 0;
    }
  }
  const isClean = left.size === 0;
  const isStrict = isClean || !isOpen;
  const { named } = database;
  const last: Statement[] = [];
  if (isOpen && isStrict)
    last.push({ sql: `DELETE FROM ${named("secret")} WHERE name = $1`, values: [unsealed] });
  // By its new value, a dump notices that an earlier one has texts as they were sealed before.
  if (rows.size > 0 || last.length > 0)
    last.push({
      sql: `UPDATE ${named("secret")} SET value = $1 WHERE name = $2`,
      values: [cipher.seal("belongs", secretPlace(check)), check],
    });
  if (last.length > 0) await database.write(last);
  return { rows: Object.fromEntries(rows), left: Object.fromEntries(left), isStrict };
}

function add(counts: Map<string, number>, table: string, count: number): void {
  if (count > 0) counts.set(table, (counts.get(table) ?? 0) + count);
}

export async function secretsOf(database: RewrittenDatabase): Promise<ReadonlyMap<string, string>> {
  return secretsIn(await database.read(`SELECT name, value FROM ${database.named("secret")}`, []));
}

/** Marks a store that is in clear, together with the secret that lets texts in clear be read. */
async function mark(database: RewrittenDatabase, keys: KeyRing): Promise<void> {
  if ((await secretsOf(database)).has(storeId)) return;
  const store = randomUUID();
  const ring = [...keys].map(([id, key]) => ({ id, key: key.export() }));
  const cipher = new Cipher({ keys: ring, store, isStrict: false });
  const secrets: readonly (readonly [string, string])[] = [
    [storeId, store],
    [unsealed, cipher.seal("", secretPlace(unsealed))],
    [check, cipher.seal("belongs", secretPlace(check))],
  ];
  const { named } = database;
  const sql = `INSERT INTO ${named("secret")} (name, value) VALUES ($1, $2)`;
  await database.write(secrets.map((values) => ({ sql, values })));
}

/** Also removes the copies that are sealed with other keys. Resolves with the number of rows that it changed. */
async function resealSecrets(database: RewrittenDatabase, cipher: Cipher): Promise<number> {
  const all = await secretsOf(database);
  const { named } = database;
  const statements: Statement[] = [];
  for (const [name, stored] of all) {
    if (name === storeId || name.includes("@") || isNewest(stored, cipher)) continue;
    const copies = [...all].filter(([copy]) => isCopyOf(copy, name));
    const value = [[name, stored] as const, ...copies]
      .map(([place, sealed]) => opened(cipher, sealed, place))
      .find((each) => each !== undefined);
    if (value === undefined) continue;
    const sql = `UPDATE ${named("secret")} SET value = $1 WHERE name = $2 AND value = $3`;
    statements.push({ sql, values: [cipher.seal(value, secretPlace(name)), name, stored] });
  }
  for (const name of all.keys()) {
    const [of = ""] = name.split("@");
    if (of === name || !isNewest(all.get(of) ?? "", cipher)) continue;
    const sql = `DELETE FROM ${named("secret")} WHERE name = $1`;
    statements.push({ sql, values: [name] });
  }
  return statements.length === 0 ? 0 : database.write(statements);
}

function isNewest(stored: string, cipher: Cipher): boolean {
  return isSealed(stored) && keyIdOf(stored) === cipher.keyId;
}

function opened(cipher: Cipher, stored: string, name: string): string | undefined {
  try {
    return cipher.open(stored, secretPlace(name));
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

/** Rows of a table with sealed columns. */
interface SealedTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly selected: readonly string[];
  /** The columns that are replaced, which are among those selected. */
  readonly replaced: readonly string[];
  /** Their values of a row of `selected`, opened and sealed by the codec. */
  readonly values: (row: Row, codec: Codec) => Stored[];
}

export function sealedTables({ news }: Pick<RewrittenDatabase, "news">): readonly SealedTable[] {
  const taskRows: SealedTable = {
    table: "task",
    key: ["id"],
    selected: recordColumns,
    replaced: [...taskTable.sealedNames, "proof"],
    values: (row, codec) => rowOf(recordIn(row, codec), codec),
  };
  const others = tables
    .filter((table) => table.sealedNames.length > 0 && table.table !== "task")
    .map((table) => rowsOf(table));
  const newsRows: SealedTable = {
    table: news,
    key: ["seq"],
    selected: ["session", "message"],
    replaced: ["message"],
    values: (row, codec) => {
      const [session, message] = [row[0], row[1]];
      if (typeof session !== "string" || typeof message !== "string") return [message as null];
      return [codec.seal(codec.open(message, newsPlace(session)), newsPlace(session))];
    },
  };
  return [withNames(taskRows, taskTable), ...others, newsRows];
}

function rowsOf(table: AnyTable): SealedTable {
  const isOfTask = table.written[0]?.name === "task_id";
  const values = (row: Row, codec: Codec): Stored[] => {
    const of = text(row, { place: 0, name: "id" });
    return table.values(of, table.read(of, isOfTask ? row.slice(1) : row, codec), codec);
  };
  const key = table.serial === undefined ? table.key : [table.serial];
  const selected = isOfTask ? ["task_id", ...table.names] : table.names;
  return withNames({ table: table.table, key, selected, replaced: table.sealedNames, values }, table);
}

/** The same with the values of the replaced columns only. */
function withNames(rows: SealedTable, { written }: AnyTable): SealedTable {
  const places = rows.replaced.map((name) => written.findIndex((column) => column.name === name));
  return {
    ...rows,
    values: (row, codec) => {
      const all = rows.values(row, codec);
      return places.map((place) => all[place] ?? null);
    },
  };
}

/** Rows in one transaction, which servers have to wait for. */
const page = 200;
/** The same where rows are pieces of files. */
const largePage = 8;

async function resealTable(
  database: RewrittenDatabase,
  { table, key, selected, replaced, values }: SealedTable,
  cipher: Cipher,
): Promise<{ readonly changed: number; readonly missed: number; readonly failed: number }> {
  const { named, same } = database;
  const sets = replaced.map((name, index) => `${name} = $${index + 1}`).join(", ");
  const conditions = [
    ...key.map((name, index) => `${name} = $${replaced.length + index + 1}`),
    ...replaced.map((name, index) => `${name} ${same} $${replaced.length + key.length + index + 1}`),
  ];
  const update = `UPDATE ${named(table)} SET ${sets} WHERE ${conditions.join(" AND ")}`;
  let [changed, missed, failed] = [0, 0, 0];
  for await (const rows of pagesOf(database, { table, key, selected })) {
    const statements: Statement[] = [];
    for (const row of rows) {
      const [keyed, rest] = [row.slice(0, key.length), row.slice(key.length)] as [Stored[], Row];
      const codec = new ResealingCodec(cipher);
      try {
        const made = values(rest, codec);
        const before = replaced.map((name) => rest[selected.indexOf(name)] as Stored);
        if (codec.isStale) statements.push({ sql: update, values: [...made, ...keyed, ...before] });
      } catch {
        failed += 1; // damaged, or without its key
      }
    }
    const written = statements.length === 0 ? 0 : await database.write(statements);
    changed += written;
    missed += statements.length - written;
  }
  return { changed, missed, failed };
}

/** The rows of a table in pages: the columns of its key, and then those that are selected. */
export async function* pagesOf(
  { named, read }: Pick<RewrittenDatabase, "named" | "read">,
  { table, key, selected }: Pick<SealedTable, "table" | "key" | "selected">,
): AsyncGenerator<readonly Row[], void, undefined> {
  const keys = key.join(", ");
  const most = table === pieceTable.table ? largePage : page;
  const from = `WHERE (${keys}) > (${key.map((_, index) => `$${index + 1}`).join(", ")})`;
  const select = (where: string): string =>
    `SELECT ${[...key, ...selected].join(", ")} FROM ${named(table)} ${where} ORDER BY ${keys} LIMIT ${most}`;
  for (let after: readonly Stored[] | undefined; ;) {
    const rows = await read(select(after === undefined ? "" : from), after ?? []);
    yield rows;
    if (rows.length < most) return;
    after = rows.at(-1)?.slice(0, key.length) as Stored[];
  }
}

/** Opens with any key, seals with the first one, and notes whether anything was not sealed with it. */
class ResealingCodec implements Codec {
  readonly #cipher: Cipher;
  #isProven = true;
  isStale = false;

  constructor(cipher: Cipher) {
    this.#cipher = cipher;
  }

  readonly seal = (value: string, place: Place): string => this.#cipher.seal(value, place);
  readonly sealWords = this.seal;

  readonly open = (stored: string, place: Place): string => {
    this.isStale ||= !isNewest(stored, this.#cipher);
    return this.#cipher.open(stored, place);
  };

  /** Words of a record that is not sealed yet may look as if they were, whoever wrote them. */
  readonly openWords = (stored: string, place: Place): string => {
    try {
      return this.open(stored, place);
    } catch (error) {
      if (this.#isProven || !(error instanceof DecryptionError)) throw error;
      return stored;
    }
  };

  readonly keyedHash = (hash: string): string => this.#cipher.keyedHash(hash);
  readonly proofOf = (place: Place): string => this.#cipher.proofOf(place);

  readonly prove = (proof: string | null, place: Place): boolean => {
    this.#isProven = proof !== null;
    this.isStale ||= proof === null || !isNewest(proof, this.#cipher);
    if (proof === null) return this.#cipher.prove(null, place);
    this.#cipher.open(proof, place);
    return true;
  };
}
