/** What a store without room lets through: what ends work, and what makes room. */

import type { TaskCommandName } from "../task/command.ts";
import type { BulkAction } from "../task/bulk.ts";
import type { MessageCommand, SessionCommand } from "./session-store.ts";

type Write =
  | { readonly type: TaskCommandName; readonly job?: { readonly action: BulkAction } }
  | { readonly type: "sessions"; readonly command: Pick<SessionCommand, "type"> }
  | { readonly type: "messages"; readonly command: Pick<MessageCommand, "type"> }
  | { readonly type: "limits" | "handlers" | "report" | "mark_file" | "left_pieces" };

/** Deletes, cancels, and what leads to them; what they write is small. */
const roomMakers: ReadonlySet<Write["type"]> = new Set<Write["type"]>([
  "cancel",
  "request_cancel",
  "delete",
  "delete_expired",
  "release_key",
  "end_delivery",
  "trim_deliveries",
  "start_bulk",
  "hold_bulk",
  "refuse_bulk_task",
  "end_bulk",
  "delete_bulk",
  "record_action",
  "pause_tool",
  "drain_owner",
  "reclaim",
  "leave",
  "handlers",
  "mark_file",
  "left_pieces",
]);

/** Ends, which may be as large as results, and what tasks need on the way there. */
const ends: ReadonlySet<Write["type"]> = new Set<Write["type"]>([
  "claim",
  "start",
  "mark",
  "settle",
  "fail",
  "expire",
  "release",
  "park",
  "wake",
  "end_sleep",
  "close_wait",
  "limits",
  "claim_deliveries",
  "retry_delivery",
]);

const sessionEnds: ReadonlySet<string> = new Set<(SessionCommand | MessageCommand)["type"]>([
  "delete_sessions",
  "delete_unextended_sessions",
  "delete_expired_sessions",
  "take_messages",
]);

export function makesRoom(write: Write): boolean {
  if (write.type === "sessions" || write.type === "messages") return sessionEnds.has(write.command.type);
  if (write.type === "add_bulk_tasks")
    return "job" in write && (write.job?.action === "cancel" || write.job?.action === "delete");
  return roomMakers.has(write.type);
}

export function endsWork(write: Write): boolean {
  return ends.has(write.type) || makesRoom(write);
}
