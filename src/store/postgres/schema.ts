import type { Indexes } from "./indexes.ts";
import { postgresTables } from "../tables/ddl.ts";
import { tables } from "../tables/tables.ts";
import type { Names } from "./names.ts";
import { limitSchema } from "./postgres-limits.ts";

/**
 * A change of the schema. Processes of the previous version keep running during and after it. It waits only briefly for locks, and they
 * wait only as long as it takes. So it adds things, and leaves what they use unchanged. It creates no index on a table that may be large,
 * since its transaction would block all writes.
 */
export interface Migration {
  /** Its statements, sent as one text. */
  readonly sql: (names: Names) => string;
  /** The oldest version whose processes can use the schema afterwards: the one before it, or an older one. */
  readonly goodFor: number;
  /** On the table of tasks: created with the rest if it is empty, and otherwise afterwards, while others keep writing. */
  readonly indexes?: Indexes;
}

/** Of tables that stay small, however often their rows change. */
const vacuumOften = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500";

/**
 * The tables of this store alone. `committed` has the last committed transactions of an owner. `session_news` has the owners' news about
 * sessions: a row without a message says that one was changed or deleted.
 */
function ownTables(names: Names): string {
  return `
CREATE TABLE ${names.owner} (
  id text COLLATE "C" PRIMARY KEY,
  pid integer NOT NULL,
  host text NOT NULL,
  since timestamptz NOT NULL,
  handlers text NOT NULL,
  lease_until timestamptz NOT NULL,
  steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired smallint NOT NULL DEFAULT 0,
  drain_until bigint
) WITH (fillfactor = 50, ${vacuumOften});

CREATE TABLE ${names.committed} (
  owner text COLLATE "C",
  xid bigint,
  PRIMARY KEY (owner, xid)
) WITH (${vacuumOften});

CREATE TABLE ${names.usage} (
  key text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  unfinished bigint NOT NULL,
  retained bigint NOT NULL,
  PRIMARY KEY (key, slot)
) WITH (fillfactor = 50, ${vacuumOften});

CREATE TABLE ${names.sessionNews} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  message text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX session_news_at ON ${names.sessionNews} (at);
${limitSchema(names)}`;
}

function schema(names: Names): string {
  return `${postgresTables(tables, (table) => `${names.quoted}.${table}`)}\n${ownTables(names)}`;
}

/**
 * In order; the first makes the tables. A schema's version is the number of its migrations. Released ones are never edited: later ones
 * change the schema.
 */
export const migrations: readonly Migration[] = [{ sql: schema, goodFor: 1 }];
