/** When a task is cancelled whose caller left. Its `sweep_at` is then no later, so that no index is needed. */
export const cancelBy = `
ALTER TABLE task ADD COLUMN cancel_by INTEGER;
`;
