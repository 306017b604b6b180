/**
 * Who waits for the result of a call without a task, at which owner, and whether somebody may come back for it. Of older tasks that a call
 * can find, that is not known.
 */
export const callers = `
ALTER TABLE task ADD COLUMN awaited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN promised INTEGER NOT NULL DEFAULT 0;
UPDATE task SET promised = 1 WHERE generation = 'plain' AND idempotency_key IS NOT NULL;
`;
