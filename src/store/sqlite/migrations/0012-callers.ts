/**
 * The owners at which callers without tasks wait for a result, and whether one may come back for it. For older tasks that a call can find,
 * this is unknown.
 */
export const callers = `
ALTER TABLE task ADD COLUMN awaited_by TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN promised INTEGER NOT NULL DEFAULT 0;
UPDATE task SET promised = 1 WHERE generation = 'plain' AND idempotency_key IS NOT NULL;
`;
