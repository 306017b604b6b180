/**
 * Tasks that wait are kept apart from those that can be claimed. `lane` says why a queued task can be; without one it waits until `run_after`.
 * Before, a queued task waited only after a second crash, and the sweeper wakes it where its time has come; and a running one that
 * waited was run again in any case, as it now is once.
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
