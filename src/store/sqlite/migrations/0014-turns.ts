/**
 * Claimable tasks, by principals and their lanes, which take turns. `limited` marks running tasks that count toward their handler's limit.
 */
export const turns = `
ALTER TABLE task ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;

DROP INDEX task_ready;
CREATE INDEX task_ready ON task (owner, method, tool, coalesce(principal, ''), lane, run_after, id)
  WHERE state = 'queued' AND lane IS NOT NULL AND run_after IS NOT NULL;
CREATE INDEX task_limited ON task (method, tool) WHERE state = 'running' AND limited = 1;
`;
