import type { Names } from "../names.ts";

/**
 * Columns and indexes for operators' searches, and their actions. Processes of the version before leave the two columns of a task
 * unchanged: tasks that they ended, or whose questions they changed, are back in the index once this version writes the task.
 */
export function admin(names: Names): string {
  return `
ALTER TABLE ${names.task} ADD COLUMN outcome_kind text COLLATE "C";
ALTER TABLE ${names.task} ADD COLUMN asks smallint;

CREATE TABLE ${names.action} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  task_id text COLLATE "C",
  tool text COLLATE "C",
  detail text
);
CREATE INDEX action_task ON ${names.action} (task_id, seq) WHERE task_id IS NOT NULL;

CREATE TABLE ${names.pausedTool} (
  tool text COLLATE "C" PRIMARY KEY,
  since bigint NOT NULL,
  actor text NOT NULL
);
`;
}

/** Indexes on the table of tasks, by name. */
export function adminIndexes({ task }: Names): Readonly<Record<string, string>> {
  return {
    task_asking: `${task} (id) WHERE asks = 1`,
    task_ended_of: `${task} (tool, coalesce(outcome_kind, state), id) WHERE state IN ('settled', 'cancelled')`,
  };
}
