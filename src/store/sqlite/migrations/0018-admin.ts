/** Operators' search columns and actions. */
export const admin = `
CREATE INDEX task_ended_of ON task (tool, coalesce(outcome_kind, state), id) WHERE state IN ('settled', 'cancelled');
CREATE INDEX task_asking ON task (id) WHERE state IN ('queued', 'running') AND open_inputs > 0;

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
`;
