/** The last attempts of a task, as JSON, and when entries of journals began. */
export const history = `
ALTER TABLE task ADD COLUMN attempts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE journal ADD COLUMN begun_at INTEGER;
`;
