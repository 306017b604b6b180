import type { DatabaseSync } from "node:sqlite";
import { sqliteTables } from "../tables/statements.ts";
import { limitSchema } from "./sqlite-limits.ts";
import { tables } from "../tables/tables.ts";
import { HoldfastError } from "../../task/fault.ts";
import { otherTables } from "../load-mark.ts";
import { connect } from "./connect.ts";

/**
 * The tables of this store alone. `usage` has the number of tasks, by principal and in total ('t'). The database itself keeps it: it counts
 * every change of tasks in a transaction, and a rollback undoes the count. Tasks without a principal are only in the total, and tasks of
 * tasks are not counted. `change` tells owners of each other's commits.
 */
const ownTables = `
CREATE TABLE usage (
  owner TEXT PRIMARY KEY,
  unfinished INTEGER NOT NULL,
  retained INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER task_counted AFTER INSERT ON task WHEN NEW.parent IS NULL BEGIN
  INSERT INTO usage VALUES ('t', NEW.state IN ('queued', 'running'), 1)
    ON CONFLICT (owner) DO UPDATE SET unfinished = unfinished + excluded.unfinished, retained = retained + 1;
  INSERT INTO usage SELECT 'p' || NEW.principal, NEW.state IN ('queued', 'running'), 1
    WHERE NEW.principal IS NOT NULL
    ON CONFLICT (owner) DO UPDATE SET unfinished = unfinished + excluded.unfinished, retained = retained + 1;
END;

CREATE TRIGGER task_ended AFTER UPDATE OF state ON task
WHEN NEW.parent IS NULL AND (OLD.state IN ('queued', 'running')) <> (NEW.state IN ('queued', 'running')) BEGIN
  UPDATE usage
    SET unfinished = unfinished + (NEW.state IN ('queued', 'running')) - (OLD.state IN ('queued', 'running'))
    WHERE owner IN ('t', 'p' || NEW.principal);
END;

CREATE TRIGGER task_forgotten AFTER DELETE ON task WHEN OLD.parent IS NULL BEGIN
  UPDATE usage SET unfinished = unfinished - (OLD.state IN ('queued', 'running')), retained = retained - 1
    WHERE owner IN ('t', 'p' || OLD.principal);
  DELETE FROM usage WHERE owner = 'p' || OLD.principal AND retained = 0;
END;

CREATE TABLE owner (
  id TEXT PRIMARY KEY,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  since TEXT NOT NULL,
  handlers TEXT NOT NULL,
  retired INTEGER NOT NULL DEFAULT 0,
  drain_until INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
  seq INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  task_id TEXT,
  version INTEGER,
  session TEXT,
  message TEXT
) STRICT;
`;

/**
 * Every schema change in order, of which the first makes the tables. A database's `user_version` is the number of its migrations. Released
 * ones are never edited: later ones change the schema.
 */
export const migrations: readonly string[] = [`${sqliteTables(tables)}\n${ownTables}${limitSchema}`];

/** "HOLD" in ASCII: marks a file as ours in its header. */
export const applicationId = 0x484f4c44;

export function userVersion(db: DatabaseSync): number {
  return number(db, "PRAGMA user_version");
}

/** Brings the schema of a database up to date, in one commit: if a migration fails, the database is unchanged. */
export function migrate(db: DatabaseSync, known: readonly string[] = migrations): void {
  const missing = known.slice(userVersion(db));
  if (missing.length === 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of missing) db.exec(migration);
    db.exec(`PRAGMA application_id = ${applicationId}`);
    db.exec(`PRAGMA user_version = ${known.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Throws `store_unusable` unless the database is empty, or ours and not newer than `known`. Only reads: other programs' files must stay as
 * they are.
 */
export function assertOurs(db: DatabaseSync, path: string, known: readonly string[] = migrations): void {
  const { application, version, objects } = headerOf(db);
  if (application === applicationId) {
    if (version <= known.length) return;
    throw new HoldfastError(
      "store_unusable",
      `${path} was written by a newer version of Holdfast (schema ${version}; this version knows schema ${known.length}). Update Holdfast, or choose another file.`,
    );
  }
  if (application === 0 && version === 0 && objects === 0) return;
  throw new HoldfastError(
    "store_unusable",
    `${path} is the SQLite database of another program. Holdfast needs its own file: choose another path.`,
  );
}

/** The same, and throws also for a database that `migrate` would change. */
export function assertMigrated(db: DatabaseSync, path: string, known: readonly string[] = migrations): void {
  assertOurs(db, path, known);
  const version = userVersion(db);
  if (version === known.length) return;
  const problem =
    version === 0
      ? `${path} is empty. Start a server on it first: it creates the tables.`
      : `${path} was written by an older version of Holdfast (schema ${version}; this version needs schema ${known.length}). Start a server of this version on it, which upgrades it, or use the older version.`;
  throw new HoldfastError("store_unusable", problem);
}

/**
 * Throws `store_unusable` if a part of the schema is missing, or one that this version cannot fill is there: the file is damaged, or another
 * version made it.
 */
export function assertComplete(db: DatabaseSync, path: string): void {
  const [found, wanted] = [partsOf(db), wholeParts()];
  const missing = wanted.filter((part) => !found.includes(part));
  const unknown = found.filter(
    (part) =>
      part.startsWith(obligatory) &&
      !wanted.includes(part) &&
      wanted.includes(`table ${part.split(" of ")[1]}`),
  );
  if (missing.length + unknown.length > 0)
    throw otherTables(
      path,
      missing.filter((part) => !part.startsWith(obligatory)),
      unknown.map((part) => part.slice(obligatory.length)),
    );
}

function wholeParts(): readonly string[] {
  const whole = connect(":memory:", {});
  migrate(whole);
  const parts = partsOf(whole);
  whole.close();
  return parts;
}

const obligatory = "obligatory ";

/** Such as "table task", and "column cause of task", which also is "obligatory column version of task" if each row must say its value. */
function partsOf(db: DatabaseSync): readonly string[] {
  const rows = db
    .prepare(
      `SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
      UNION ALL SELECT word || 'column ' || info.name || ' of ' || part.name
        FROM sqlite_schema AS part, pragma_table_info(part.name) AS info, (SELECT '' AS word UNION ALL SELECT '${obligatory}')
        WHERE part.type = 'table' AND part.name NOT LIKE 'sqlite_%' AND (word = '' OR info."notnull" AND info.dflt_value IS NULL)`,
    )
    .all();
  return rows.flatMap((row) => Object.values(row).map(String));
}

interface Header {
  readonly application: number;
  readonly version: number;
  readonly objects: number;
}

/** In one consistent view: another process may be creating the tables. */
function headerOf(db: DatabaseSync): Header {
  db.exec("BEGIN");
  try {
    return {
      application: number(db, "PRAGMA application_id"),
      version: userVersion(db),
      objects: number(db, "SELECT count(*) FROM sqlite_schema"),
    };
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** The number that a statement returns. */
export function number(db: DatabaseSync, sql: string): number {
  const [value] = Object.values(db.prepare(sql).get() ?? {});
  return Number(value);
}
