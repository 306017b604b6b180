/**
 * Tasks that can be claimed, by who has turns: principals, and each of their lanes. `limited` marks what runs of a handler of which only
 * so many tasks run at a time.
 */
export const turns = `
ALTER TABLE task ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;

DROP INDEX task_ready;
CREATE INDEX task_ready ON task (owner, method, tool, coalesce(principal, ''), lane, run_after, id)
  WHERE state = 'queued' AND lane IS NOT NULL AND run_after IS NOT NULL;
CREATE INDEX task_limited ON task (method, tool) WHERE state = 'running' AND limited = 1;
`;
