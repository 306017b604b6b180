import { isReady, isWaiting } from "../tables/task.ts";
import type { Names } from "./names.ts";

/**
 * The handlers of queued tasks, found step by step: `ready` has those of claimable tasks, for each owner, and `waiting` those of the
 * others.
 */
export function withQueuedHandlers({ task }: Names): string {
  return `WITH RECURSIVE ready AS (
        (SELECT owner, method, tool FROM ${task} WHERE ${isReady} ORDER BY owner, method, tool LIMIT 1)
        UNION ALL
        SELECT next.* FROM ready CROSS JOIN LATERAL (
          SELECT owner, method, tool FROM ${task}
          WHERE ${isReady} AND (owner, method, tool) > (ready.owner, ready.method, ready.tool)
          ORDER BY owner, method, tool LIMIT 1) AS next
      ), waiting AS (
        (SELECT method, tool FROM ${task} WHERE ${isWaiting} ORDER BY method, tool LIMIT 1)
        UNION ALL
        SELECT next.* FROM waiting CROSS JOIN LATERAL (
          SELECT method, tool FROM ${task} WHERE ${isWaiting} AND (method, tool) > (waiting.method, waiting.tool)
          ORDER BY method, tool LIMIT 1) AS next
      )`;
}
