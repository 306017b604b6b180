import type { DatabaseSync } from "node:sqlite";
import { tasks } from "./migrations/0001-tasks.ts";
import { lists } from "./migrations/0002-lists.ts";
import { messages } from "./migrations/0003-messages.ts";
import { usage } from "./migrations/0004-usage.ts";
import { scopes } from "./migrations/0005-scopes.ts";
import { requiredScopes } from "./migrations/0006-required-scopes.ts";
import { generations } from "./migrations/0007-generations.ts";
import { cancelBy } from "./migrations/0008-cancel-by.ts";
import { sessions } from "./migrations/0009-sessions.ts";
import { endOrder } from "./migrations/0010-end-order.ts";
import { owners } from "./migrations/0011-owners.ts";
import { callers } from "./migrations/0012-callers.ts";
import { parking } from "./migrations/0013-parking.ts";
import { turns } from "./migrations/0014-turns.ts";
import { composition } from "./migrations/0015-composition.ts";
import { lines } from "./migrations/0016-lines.ts";
import { history } from "./migrations/0017-history.ts";
import { admin } from "./migrations/0018-admin.ts";
import { deliveries } from "./migrations/0019-deliveries.ts";
import { reports } from "./migrations/0020-reports.ts";
import { counts } from "./migrations/0021-counts.ts";
import { applicationId, userVersion } from "./database-header.ts";

/** Every schema change in order. A database's `user_version` is the number of its migrations. */
export const migrations: readonly string[] = [
  tasks,
  lists,
  messages,
  usage,
  scopes,
  requiredScopes,
  generations,
  cancelBy,
  sessions,
  endOrder,
  owners,
  callers,
  parking,
  turns,
  composition,
  lines,
  history,
  admin,
  deliveries,
  reports,
  counts,
];

/** Upgrades an empty or older database in one commit: if a migration fails, the database is unchanged. */
export function migrate(db: DatabaseSync, known: readonly string[] = migrations): void {
  const missing = known.slice(userVersion(db));
  if (missing.length === 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of missing) db.exec(migration);
    db.exec(`PRAGMA application_id = ${applicationId}`);
    db.exec(`PRAGMA user_version = ${known.length}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
