/** What a list of the tasks of one generation reads, of all principals. */
export const generations = `
CREATE INDEX task_generation ON task (generation, id);
`;
