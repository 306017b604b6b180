/** Tasks that have ended are counted in their index alone: in one of an expression, SQLite looks up the row of each. */
export const counts = `
DROP INDEX task_ended_of;
CREATE INDEX task_ended_as ON task (tool, state, outcome_kind, id) WHERE state IN ('settled', 'cancelled');
`;
