import type { Indexes } from "./indexes.ts";
import type { Names } from "./names.ts";

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

/**
 * The tables of a schema. `task.record` is the whole record as JSON text; the other columns are for searching. An owner of '' means none.
 * Texts are compared by their bytes. `committed` has the last committed transactions of an owner. `session_news` has the owners' news about
 * sessions: a row without a message says that one was changed or deleted.
 */
function schema(names: Names): string {
  return `
CREATE TABLE ${names.task} (
  id text COLLATE "C" PRIMARY KEY,
  wire_id text COLLATE "C",
  generation text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  principal text COLLATE "C",
  method text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C",
  state text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  lane text COLLATE "C",
  run_after bigint,
  sweep_at bigint,
  limited smallint NOT NULL,
  outcome_kind text COLLATE "C",
  asks smallint,
  record text COLLATE "C" NOT NULL,
  proof text COLLATE "C"
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX task_wire_id ON ${names.task} (generation, scope, wire_id) WHERE wire_id IS NOT NULL;
CREATE UNIQUE INDEX task_idempotency ON ${names.task} (coalesce(principal, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_owned ON ${names.task} (generation, coalesce(principal, ''), id);
CREATE INDEX task_generation ON ${names.task} (generation, id);
CREATE INDEX task_scope ON ${names.task} (generation, scope, id) WHERE scope <> '';
CREATE INDEX task_unfinished ON ${names.task} (id) WHERE state IN ('queued', 'running');
CREATE INDEX task_due ON ${names.task} (sweep_at, id) WHERE state IN ('queued', 'running') AND sweep_at IS NOT NULL;
CREATE INDEX task_deletable ON ${names.task} (sweep_at, id)
  WHERE state IN ('settled', 'cancelled') AND sweep_at IS NOT NULL;
CREATE INDEX task_running ON ${names.task} (owner, id) WHERE state = 'running';
CREATE INDEX task_limited ON ${names.task} (method, tool) WHERE state = 'running' AND limited = 1;
CREATE INDEX task_ready ON ${names.task} (owner, method, tool, coalesce(principal, ''), lane, run_after, id)
  WHERE state = 'queued' AND lane IS NOT NULL;
CREATE INDEX task_waiting ON ${names.task} (run_after, id) WHERE state = 'queued' AND lane IS NULL;
CREATE INDEX task_parked ON ${names.task} (method, tool, run_after, id) WHERE state = 'queued' AND lane IS NULL;
CREATE INDEX task_asking ON ${names.task} (id) WHERE asks = 1;
CREATE INDEX task_ended_of ON ${names.task} (tool, coalesce(outcome_kind, state), id) WHERE state IN ('settled', 'cancelled');

CREATE TABLE ${names.request} (
  task_id text COLLATE "C" PRIMARY KEY,
  origin text NOT NULL,
  arguments text NOT NULL,
  prepared text,
  session text COLLATE "C",
  request_id text COLLATE "C"
);
CREATE INDEX request_session ON ${names.request} (session, request_id, task_id) WHERE session IS NOT NULL;

CREATE TABLE ${names.journal} (
  seq bigint GENERATED ALWAYS AS IDENTITY,
  task_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  method text COLLATE "C",
  request text COLLATE "C",
  request_hash text COLLATE "C",
  value text,
  error text,
  deadline_at bigint,
  done_at bigint,
  done_version bigint,
  tries bigint NOT NULL,
  begun_at bigint,
  PRIMARY KEY (task_id, key)
);
CREATE INDEX journal_open_input ON ${names.journal} (task_id, seq) WHERE kind = 'input' AND done_at IS NULL;
CREATE INDEX journal_open_event ON ${names.journal} (task_id, seq) WHERE kind = 'event' AND done_at IS NULL;

CREATE TABLE ${names.outcome} (
  task_id text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  body text NOT NULL
);

CREATE TABLE ${names.line} (
  task_id text COLLATE "C" NOT NULL,
  list text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  step text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (task_id, list, seq)
);

CREATE TABLE ${names.child} (
  id text COLLATE "C" PRIMARY KEY,
  parent text COLLATE "C" NOT NULL,
  root text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL
);
CREATE INDEX child_parent ON ${names.child} (parent, id);
CREATE INDEX child_root ON ${names.child} (root, id);

CREATE TABLE ${names.event} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text,
  dedupe_id text COLLATE "C"
);
CREATE INDEX event_task ON ${names.event} (task_id, seq);
CREATE UNIQUE INDEX event_dedupe ON ${names.event} (task_id, dedupe_id) WHERE dedupe_id IS NOT NULL;

CREATE TABLE ${names.owner} (
  id text COLLATE "C" PRIMARY KEY,
  pid integer NOT NULL,
  host text NOT NULL,
  since timestamptz NOT NULL,
  handlers text NOT NULL,
  lease_until timestamptz NOT NULL,
  retired smallint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE ${names.committed} (
  owner text COLLATE "C",
  xid bigint,
  PRIMARY KEY (owner, xid)
);

CREATE TABLE ${names.usage} (
  key text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  unfinished bigint NOT NULL,
  retained bigint NOT NULL,
  PRIMARY KEY (key, slot)
) WITH (fillfactor = 50);

CREATE TABLE ${names.secret} (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE ${names.session} (
  id text COLLATE "C" PRIMARY KEY,
  principal text COLLATE "C",
  expires_at bigint NOT NULL,
  state text NOT NULL
);
CREATE INDEX session_principal ON ${names.session} (principal, expires_at, id);
CREATE INDEX session_expiry ON ${names.session} (expires_at, id);

CREATE TABLE ${names.sessionNews} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  message text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX session_news_at ON ${names.sessionNews} (at);

CREATE TABLE ${names.message} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  owner text COLLATE "C"
);
CREATE INDEX message_queue ON ${names.message} (task_id, seq);
CREATE INDEX message_owner ON ${names.message} (owner) WHERE owner IS NOT NULL;

CREATE TABLE ${names.action} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  task_id text COLLATE "C",
  tool text COLLATE "C",
  detail text
);
CREATE INDEX action_task ON ${names.action} (task_id, seq) WHERE task_id IS NOT NULL;

CREATE TABLE ${names.pausedTool} (
  tool text COLLATE "C" PRIMARY KEY,
  since bigint NOT NULL,
  actor text NOT NULL
);

CREATE TABLE ${names.delivery} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hook text COLLATE "C" NOT NULL,
  event text NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  principal text COLLATE "C",
  generation text NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  due_at bigint,
  tries bigint NOT NULL,
  failed_at bigint,
  problem text
);
CREATE INDEX delivery_due ON ${names.delivery} (hook, due_at, seq);
CREATE INDEX delivery_failed ON ${names.delivery} (hook, failed_at) WHERE failed_at IS NOT NULL;

CREATE TABLE ${names.report} (
  owner text COLLATE "C" NOT NULL,
  minute bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (minute, owner)
);
`;
}

/**
 * In order; the first makes the tables. A schema's version is the number of its migrations. Released ones are never edited: later ones
 * change the schema.
 */
export const migrations: readonly Migration[] = [{ sql: schema, goodFor: 1 }];
