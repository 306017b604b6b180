/** For lists of the tasks of one generation, of all principals. */
export const generations = `
CREATE INDEX task_generation ON task (generation, id);
`;
