/**
 * The tables of a database. `usage` has the number of tasks, by principal and in total ('t'). The database itself keeps it: it counts every
 * change of tasks in a transaction, and a rollback undoes the count. Tasks without a principal are only in the total, and tasks of tasks
 * are not counted. `child` says which tasks are below which, so that other tasks need no index for it. `change` tells owners of each
 * other's commits. A task without a `wire_id` has its id for it. `journal.place` grows in the order of first writes to a task. An unreadable origin, in a damaged row, belongs to no session.
 */
const schema = `
CREATE TABLE task (
  id TEXT PRIMARY KEY,
  wire_id TEXT,
  generation TEXT NOT NULL,
  scope TEXT NOT NULL,
  principal TEXT,
  method TEXT NOT NULL,
  tool TEXT NOT NULL,
  parent TEXT,
  idempotency_key TEXT,
  request_hash TEXT NOT NULL,
  required_scopes TEXT NOT NULL,
  notifies TEXT NOT NULL,
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
  logged INTEGER NOT NULL,
  outputs INTEGER NOT NULL,
  open_inputs INTEGER NOT NULL,
  child_inputs INTEGER NOT NULL,
  open_waits INTEGER NOT NULL,
  cancel_requested_at INTEGER,
  cancel_by INTEGER,
  awaited_by TEXT NOT NULL,
  promised INTEGER NOT NULL,
  owner TEXT,
  lane TEXT,
  run_after INTEGER,
  attempt INTEGER NOT NULL,
  attempts TEXT NOT NULL,
  tool_version INTEGER,
  failures INTEGER NOT NULL,
  limited INTEGER NOT NULL,
  token TEXT,
  started_at INTEGER,
  journalled INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  outcome_kind TEXT CHECK (outcome_kind IN ('result', 'error_result', 'error')),
  retrieved TEXT,
  proof TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX task_wire_id ON task (generation, scope, wire_id) WHERE wire_id IS NOT NULL;
CREATE UNIQUE INDEX task_idempotency ON task (coalesce(principal, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX task_owner ON task (generation, principal, id);
CREATE INDEX task_generation ON task (generation, id);
CREATE INDEX task_scope ON task (generation, scope, id) WHERE scope <> '';
CREATE INDEX task_unfinished ON task (id) WHERE state IN ('queued', 'running');
CREATE INDEX task_asking ON task (id) WHERE state IN ('queued', 'running') AND open_inputs > 0;
CREATE INDEX task_due ON task (sweep_at) WHERE state IN ('queued', 'running') AND sweep_at IS NOT NULL;
CREATE INDEX task_deletable ON task (sweep_at) WHERE state IN ('settled', 'cancelled') AND sweep_at IS NOT NULL;
CREATE INDEX task_ended_as ON task (tool, state, outcome_kind, id) WHERE state IN ('settled', 'cancelled');
CREATE INDEX task_limited ON task (method, tool) WHERE state = 'running' AND limited = 1;
CREATE INDEX task_ready ON task (owner, method, tool, coalesce(principal, ''), lane, run_after, id)
  WHERE state = 'queued' AND lane IS NOT NULL AND run_after IS NOT NULL;
CREATE INDEX task_parked ON task (method, tool, run_after, id)
  WHERE state = 'queued' AND lane IS NULL AND run_after IS NOT NULL;

CREATE TABLE request (
  task_id TEXT PRIMARY KEY,
  origin TEXT NOT NULL,
  arguments TEXT NOT NULL,
  prepared TEXT,
  session TEXT AS (CASE WHEN json_valid(origin) THEN json_extract(origin, '$.session') END) VIRTUAL,
  request_id ANY AS (CASE WHEN json_valid(origin) THEN json_extract(origin, '$.requestId') END) VIRTUAL
) STRICT, WITHOUT ROWID;
CREATE INDEX request_session ON request (session, request_id, task_id) WHERE session IS NOT NULL;

CREATE TABLE journal (
  task_id TEXT NOT NULL,
  key TEXT NOT NULL,
  place INTEGER NOT NULL,
  kind TEXT NOT NULL,
  method TEXT,
  request TEXT,
  request_hash TEXT,
  value TEXT,
  error TEXT,
  deadline_at INTEGER,
  done_at INTEGER,
  done_version INTEGER,
  tries INTEGER NOT NULL,
  begun_at INTEGER,
  PRIMARY KEY (task_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX journal_open_input ON journal (task_id, place) WHERE kind = 'input' AND done_at IS NULL;
CREATE INDEX journal_open_event ON journal (task_id, request, place) WHERE kind = 'event' AND done_at IS NULL;

CREATE TABLE outcome (
  task_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('result', 'error')),
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE line (
  task_id TEXT NOT NULL,
  list TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  step TEXT NOT NULL,
  place INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (task_id, list, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE child (
  id TEXT PRIMARY KEY,
  parent TEXT NOT NULL,
  root TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX child_parent ON child (parent);
CREATE INDEX child_root ON child (root);

CREATE TABLE event (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT,
  dedupe_id TEXT
) STRICT;
CREATE INDEX event_kept ON event (task_id, name, seq) WHERE value IS NOT NULL;
CREATE UNIQUE INDEX event_dedupe ON event (task_id, dedupe_id) WHERE dedupe_id IS NOT NULL;
CREATE INDEX event_task ON event (task_id);

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
  retired INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE change (
  seq INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  task_id TEXT,
  version INTEGER,
  session TEXT,
  message TEXT
) STRICT;

CREATE TABLE session (
  id TEXT PRIMARY KEY,
  principal TEXT,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_principal ON session (principal, expires_at);
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE message (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  body TEXT NOT NULL,
  owner TEXT
) STRICT;
CREATE INDEX message_queue ON message (task_id, seq);
CREATE INDEX message_owner ON message (owner) WHERE owner IS NOT NULL;

CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE action (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  task_id TEXT,
  tool TEXT,
  detail TEXT
) STRICT;
CREATE INDEX action_task ON action (task_id, seq) WHERE task_id IS NOT NULL;

CREATE TABLE paused_tool (
  tool TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  hook TEXT NOT NULL,
  event TEXT NOT NULL,
  task_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  principal TEXT,
  generation TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  due_at INTEGER,
  tries INTEGER NOT NULL,
  failed_at INTEGER,
  problem TEXT
) STRICT;
CREATE INDEX delivery_due ON delivery (hook, due_at, seq);
CREATE INDEX delivery_failed ON delivery (hook, failed_at) WHERE failed_at IS NOT NULL;

CREATE TABLE report (
  owner TEXT NOT NULL,
  minute INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (minute, owner)
) STRICT;
`;

/**
 * Every schema change in order, of which the first makes the tables. A database's `user_version` is the number of its migrations. Released
 * ones are never edited: later ones change the schema.
 */
export const migrations: readonly string[] = [schema];
