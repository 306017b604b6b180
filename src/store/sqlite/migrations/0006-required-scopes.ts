/** The scopes that a task needs, with a space between two; tasks that there are need none. */
export const requiredScopes = `
ALTER TABLE task ADD COLUMN required_scopes TEXT NOT NULL DEFAULT '';
`;
