/** The first schema. Like every migration, it is never edited: later ones change the schema. */
export const tasks = `
CREATE TABLE task (
  id TEXT PRIMARY KEY,
  wire_id TEXT NOT NULL,
  generation TEXT NOT NULL,
  scope TEXT NOT NULL,
  principal TEXT,
  method TEXT NOT NULL,
  tool TEXT NOT NULL,
  idempotency_key TEXT,
  request_hash TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'settled', 'cancelled')),
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  expiry_from TEXT NOT NULL,
  expiry_ms INTEGER,
  run_until INTEGER,
  sweep_at INTEGER,
  poll_interval_ms INTEGER NOT NULL,
  status_message TEXT,
  progress TEXT,
  open_inputs INTEGER NOT NULL,
  cancel_requested_at INTEGER,
  attempt INTEGER NOT NULL,
  token TEXT,
  started_at INTEGER,
  journalled INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  crashes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_wire_id ON task (generation, scope, wire_id);
CREATE UNIQUE INDEX task_idempotency ON task (coalesce(principal, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_unfinished ON task (id) WHERE state IN ('queued', 'running');
CREATE INDEX task_due ON task (sweep_at) WHERE state IN ('queued', 'running') AND sweep_at IS NOT NULL;
CREATE INDEX task_deletable ON task (sweep_at) WHERE state IN ('settled', 'cancelled') AND sweep_at IS NOT NULL;

CREATE TABLE request (
  task_id TEXT PRIMARY KEY,
  origin TEXT NOT NULL,
  arguments TEXT NOT NULL,
  prepared TEXT
) STRICT;

CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  method TEXT,
  request TEXT,
  request_hash TEXT,
  value TEXT,
  error TEXT,
  deadline_at INTEGER,
  done_at INTEGER,
  UNIQUE (task_id, key)
) STRICT;

CREATE INDEX journal_open_input ON journal (task_id, seq) WHERE kind = 'input' AND done_at IS NULL;

CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE outcome (
  task_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('result', 'error')),
  body TEXT NOT NULL
) STRICT;
`;
