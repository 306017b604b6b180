/**
 * The number of tasks, by owner and in total ('t'), kept by the database itself: it counts every change of tasks in a transaction, and a
 * rollback undoes the count. Only principals are counted: callers that are not told apart have none.
 */
export const usage = `
CREATE TABLE usage (
  owner TEXT PRIMARY KEY,
  unfinished INTEGER NOT NULL,
  retained INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO usage
  SELECT 't', coalesce(sum(state IN ('queued', 'running')), 0), count(*) FROM task;
INSERT INTO usage
  SELECT 'p' || principal, sum(state IN ('queued', 'running')), count(*)
  FROM task WHERE principal IS NOT NULL GROUP BY principal;

CREATE TRIGGER task_counted AFTER INSERT ON task BEGIN
  INSERT INTO usage VALUES ('t', NEW.state IN ('queued', 'running'), 1)
    ON CONFLICT (owner) DO UPDATE SET unfinished = unfinished + excluded.unfinished, retained = retained + 1;
  INSERT INTO usage SELECT 'p' || NEW.principal, NEW.state IN ('queued', 'running'), 1
    WHERE NEW.principal IS NOT NULL
    ON CONFLICT (owner) DO UPDATE SET unfinished = unfinished + excluded.unfinished, retained = retained + 1;
END;

CREATE TRIGGER task_ended AFTER UPDATE OF state ON task
WHEN (OLD.state IN ('queued', 'running')) <> (NEW.state IN ('queued', 'running')) BEGIN
  UPDATE usage
    SET unfinished = unfinished + (NEW.state IN ('queued', 'running')) - (OLD.state IN ('queued', 'running'))
    WHERE owner IN ('t', 'p' || NEW.principal);
END;

CREATE TRIGGER task_forgotten AFTER DELETE ON task BEGIN
  UPDATE usage SET unfinished = unfinished - (OLD.state IN ('queued', 'running')), retained = retained - 1
    WHERE owner IN ('t', 'p' || OLD.principal);
  DELETE FROM usage WHERE owner = 'p' || OLD.principal AND retained = 0;
END;
`;
