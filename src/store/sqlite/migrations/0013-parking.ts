/**
 * Separates waiting tasks from claimable ones. `lane` says why a queued task is claimable; without one it waits until `run_after`. Before,
 * a queued task waited only after a second crash; the sweeper wakes such tasks. A waiting running task was always run again, as happens now
 * once.
 */
export const parking = `
ALTER TABLE task ADD COLUMN lane TEXT;
UPDATE task SET lane = CASE WHEN attempt = 0 THEN 'new' ELSE 'recovered' END
  WHERE state = 'queued' AND crashes < 2;

DROP INDEX task_queue;
CREATE INDEX task_ready ON task (owner, method, tool, run_after, id)
  WHERE state = 'queued' AND lane IS NOT NULL AND run_after IS NOT NULL;
CREATE INDEX task_parked ON task (method, tool, run_after, id)
  WHERE state = 'queued' AND lane IS NULL AND run_after IS NOT NULL;
`;
