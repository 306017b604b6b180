/** When a task whose caller left is cancelled. Its `sweep_at` is no later, so no index is needed. */
export const cancelBy = `
ALTER TABLE task ADD COLUMN cancel_by INTEGER;
`;
