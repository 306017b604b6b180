/**
 * Sessions of HTTP clients, and the session and request that each task came from. An unreadable origin, in a damaged row, belongs to no
 * session.
 */
export const sessions = `
CREATE TABLE session (
  id TEXT PRIMARY KEY,
  principal TEXT,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX session_principal ON session (principal, expires_at);
CREATE INDEX session_expiry ON session (expires_at);

ALTER TABLE request ADD COLUMN session TEXT
  AS (CASE WHEN json_valid(origin) THEN json_extract(origin, '$.session') END) VIRTUAL;
ALTER TABLE request ADD COLUMN request_id ANY
  AS (CASE WHEN json_valid(origin) THEN json_extract(origin, '$.requestId') END) VIRTUAL;

CREATE INDEX request_session ON request (session, request_id, task_id) WHERE session IS NOT NULL;
`;
