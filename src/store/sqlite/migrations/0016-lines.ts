/** The logs and outputs of tasks. */
export const lines = `
ALTER TABLE task ADD COLUMN logged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN outputs INTEGER NOT NULL DEFAULT 0;

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
`;
