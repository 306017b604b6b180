import type { Names } from "../names.ts";

/**
 * The first schema. Like every migration, it is never edited: later ones change the schema, in a way that lets processes of the version
 * before continue.
 *
 * `task.record` is the whole record as JSON text; the other columns are for searching. An owner of '' means none. Texts are compared by
 * their bytes. `committed` has the last committed transactions of an owner. `told` has the owners' news about sessions: a row without a
 * message says that one was changed or deleted.
 */
export function tasks(names: Names): string {
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
  record text COLLATE "C" NOT NULL
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
  PRIMARY KEY (task_id, key)
);
CREATE INDEX journal_open_input ON ${names.journal} (task_id, seq) WHERE kind = 'input' AND done_at IS NULL;
CREATE INDEX journal_open_event ON ${names.journal} (task_id, seq) WHERE kind = 'event' AND done_at IS NULL;

CREATE TABLE ${names.outcome} (
  task_id text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  body text NOT NULL
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

CREATE TABLE ${names.told} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  message text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX told_at ON ${names.told} (at);

CREATE TABLE ${names.message} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task_id text COLLATE "C" NOT NULL,
  body text NOT NULL,
  owner text COLLATE "C"
);
CREATE INDEX message_queue ON ${names.message} (task_id, seq);
CREATE INDEX message_owner ON ${names.message} (owner) WHERE owner IS NOT NULL;
`;
}
