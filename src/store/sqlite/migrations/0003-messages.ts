/** The queues of tasks: `seq` is the order. What is bound to a process is dropped by the next one. */
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
