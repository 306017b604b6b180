/**
 * For lists of an owner's tasks: an index, and the kind of each outcome, so that no body is parsed. A body that is not stored as plain JSON
 * text (it contains half a surrogate pair unescaped) counts as a result.
 */
export const lists = `
ALTER TABLE task ADD COLUMN outcome_kind TEXT CHECK (outcome_kind IN ('result', 'error_result', 'error'));

UPDATE task SET outcome_kind = (
  SELECT CASE
    WHEN kind = 'error' THEN 'error'
    WHEN json_type(CASE WHEN json_valid(body) THEN body ELSE 'null' END, '$.isError') = 'true' THEN 'error_result'
    ELSE 'result'
  END FROM outcome WHERE task_id = task.id
);

CREATE INDEX task_owner ON task (generation, principal, id);
`;
