/**
 * Several processes at a time. Before, one process owned the file: its running tasks belong to an owner that is gone, and the first process
 * that opens the file reclaims them. `change` tells owners of each other's commits, and is written only while there is more than one. A
 * message bound to a process is deleted with it, so it now has its owner.
 */
export const owners = `
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

ALTER TABLE task ADD COLUMN owner TEXT;
ALTER TABLE task ADD COLUMN run_after INTEGER;

INSERT INTO owner (id, pid, host, since, handlers)
  SELECT 'before-owners', 0, '', '', '[]'
  WHERE EXISTS (SELECT 1 FROM task WHERE state = 'running') OR EXISTS (SELECT 1 FROM message WHERE bound = 1);
UPDATE task SET owner = 'before-owners' WHERE state = 'running';
UPDATE task SET run_after = created_at WHERE state = 'queued';

ALTER TABLE message ADD COLUMN owner TEXT;
UPDATE message SET owner = 'before-owners' WHERE bound = 1;
DROP INDEX message_bound;
ALTER TABLE message DROP COLUMN bound;
CREATE INDEX message_owner ON message (owner) WHERE owner IS NOT NULL;

CREATE INDEX task_queue ON task (owner, method, tool, run_after, id) WHERE state = 'queued' AND run_after IS NOT NULL;
`;
