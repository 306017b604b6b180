/** The scopes that a task needs, separated by spaces; existing tasks need none. */
export const requiredScopes = `
ALTER TABLE task ADD COLUMN required_scopes TEXT NOT NULL DEFAULT '';
`;
