/**
 * The order in which entries ended. A sleep used to count as done from its beginning; now it is done when it has ended. One whose time is
 * over may have been seen to end, at that time; the others are still open.
 */
export const endOrder = `
ALTER TABLE journal ADD COLUMN done_version INTEGER;

UPDATE journal
  SET done_at = CASE WHEN deadline_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER) THEN deadline_at END
  WHERE kind = 'sleep';
`;
