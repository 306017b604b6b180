import { sqliteTables } from "../tables/ddl.ts";
import { limitSchema } from "./sqlite-limits.ts";
import { tables } from "../tables/tables.ts";

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
