/** Counts of finished tasks read only their index: with an index on an expression, SQLite looks up each row. */
export const counts = `
DROP INDEX task_ended_of;
CREATE INDEX task_ended_as ON task (tool, state, outcome_kind, id) WHERE state IN ('settled', 'cancelled');
`;
