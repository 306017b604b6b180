/** Messages for webhooks, and the webhooks of each task. */
export const deliveries = `
ALTER TABLE task ADD COLUMN notifies TEXT NOT NULL DEFAULT '';

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
`;
