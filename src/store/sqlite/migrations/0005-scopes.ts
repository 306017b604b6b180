/** For lists of the tasks of one scope; most tasks have none. */
export const scopes = `
CREATE INDEX task_scope ON task (generation, scope, id) WHERE scope <> '';
`;
