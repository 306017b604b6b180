/**
 * Retries, versions of tools, tasks of tasks, and events. A separate table says which tasks are below which, so that other tasks need no
 * index for it; the task's `parent` has the same and the rest. Tasks of tasks count for no quota.
 */
export const composition = `
ALTER TABLE task ADD COLUMN tool_version INTEGER;
ALTER TABLE task ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN parent TEXT;
ALTER TABLE task ADD COLUMN child_inputs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN open_waits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;

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
CREATE INDEX journal_open_event ON journal (task_id, request, seq) WHERE kind = 'event' AND done_at IS NULL;

DROP TRIGGER task_counted;
DROP TRIGGER task_ended;
DROP TRIGGER task_forgotten;

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
`;
