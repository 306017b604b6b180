import type { Names } from "../names.ts";

/**
 * The logs and outputs of tasks. If a process of the version before deletes a task, the task's lines remain, but nothing finds them any
 * more.
 */
export function lines(names: Names): string {
  return `
CREATE TABLE ${names.line} (
  task_id text COLLATE "C" NOT NULL,
  list text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  step text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (task_id, list, seq)
);
`;
}
