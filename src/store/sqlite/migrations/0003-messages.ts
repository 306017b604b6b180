/** The queues of tasks, ordered by `seq`. The next process drops messages bound to an earlier one. */
export const messages = `
CREATE TABLE message (
  seq INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  body TEXT NOT NULL,
  bound INTEGER NOT NULL
) STRICT;

CREATE INDEX message_queue ON message (task_id, seq);
CREATE INDEX message_bound ON message (bound) WHERE bound = 1;
`;
