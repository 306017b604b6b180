/** How stores treat each command, beside what it decides. A command that is missing here does not compile. */

import type { TaskCommand, TaskCommandName } from "../task/command.ts";
import type { BulkAction } from "../task/bulk.ts";
import type { MessageCommand, SessionCommand } from "./session-store.ts";

interface Traits {
  /**
   * On a store without room: what makes room always passes, and is small; what ends work, which may be as large as results, and what tasks
   * need on the way there passes for a while. Everything else is refused.
   */
  readonly whenFull?: "makes_room" | "ends_work";
  /** It is about many tasks or deliveries, or a whole bulk job, or fails if a key is taken: it is decided alone. */
  readonly alone?: true;
  /** It concerns one task alone, unless others are above or below that. */
  readonly ofOneTask?: true;
}

const makesRoomAlways: Traits = { whenFull: "makes_room" };
const endsWorkThere: Traits = { whenFull: "ends_work" };
const makesRoomAlone: Traits = { whenFull: "makes_room", alone: true };
const endsWorkAlone: Traits = { whenFull: "ends_work", alone: true };
const endsOneTask: Traits = { whenFull: "ends_work", ofOneTask: true };

const traits: Readonly<Record<TaskCommandName, Traits>> = {
  create: {},
  start: endsWorkThere,
  claim: endsWorkAlone,
  release: endsWorkThere,
  retry: {},
  block: {},
  orphan: {},
  unblock: {},
  park: endsWorkThere,
  wake: endsWorkAlone,
  mark: endsOneTask,
  record_step: { ofOneTask: true },
  write_piece: {},
  begin_step: {},
  retry_step: { ofOneTask: true },
  next_round: {},
  open_input: {},
  close_wait: endsWorkThere,
  sleep: { ofOneTask: true },
  end_sleep: endsOneTask,
  call_tool: {},
  wait_event: {},
  send_event: {},
  answer_inputs: {},
  update: { ofOneTask: true },
  append: { ofOneTask: true },
  settle: endsOneTask,
  fail: endsWorkThere,
  expire: endsWorkThere,
  request_cancel: makesRoomAlways,
  join: {},
  leave: makesRoomAlways,
  cancel: makesRoomAlways,
  reclaim: makesRoomAlone,
  release_key: makesRoomAlways,
  retrieve: {},
  extend: {},
  pause_tool: makesRoomAlways,
  resume_tool: {},
  drain_owner: makesRoomAlways,
  mark_cause: {},
  record_action: makesRoomAlways,
  delete: makesRoomAlways,
  keep_secret: { alone: true },
  replace_secret: { alone: true },
  rekey: { alone: true },
  delete_expired: makesRoomAlone,
  claim_deliveries: endsWorkAlone,
  end_delivery: makesRoomAlways,
  retry_delivery: endsWorkThere,
  resend_deliveries: { alone: true },
  repeat_delivery: {},
  trim_deliveries: makesRoomAlone,
  add_bulk_tasks: { alone: true },
  start_bulk: makesRoomAlone,
  hold_bulk: makesRoomAlone,
  end_bulk: makesRoomAlone,
  refuse_bulk_task: makesRoomAlways,
  delete_bulk: makesRoomAlone,
};

/** What the thread of a SQLite writer does beside commands. */
const others: Readonly<Record<"limits" | "handlers" | "report" | "mark_file" | "left_pieces", Traits>> = {
  limits: endsWorkThere,
  handlers: makesRoomAlways,
  report: {},
  mark_file: makesRoomAlways,
  left_pieces: makesRoomAlways,
};

const ofSessions: Readonly<Record<(SessionCommand | MessageCommand)["type"], Traits>> = {
  put_session: {},
  update_session: {},
  extend_sessions: {},
  delete_sessions: makesRoomAlways,
  delete_unextended_sessions: makesRoomAlways,
  delete_expired_sessions: makesRoomAlways,
  send_to_session: {},
  put_message: {},
  take_messages: makesRoomAlways,
};

type Write =
  | { readonly type: TaskCommandName; readonly job?: { readonly action: BulkAction } }
  | { readonly type: "sessions"; readonly command: Pick<SessionCommand, "type"> }
  | { readonly type: "messages"; readonly command: Pick<MessageCommand, "type"> }
  | { readonly type: keyof typeof others };

const all: Readonly<Record<TaskCommandName | keyof typeof others, Traits>> = { ...traits, ...others };

/** The tasks of a bulk job that are to be cancelled or deleted make room as well. */
function whenFull(write: Write): Traits["whenFull"] {
  if (write.type === "sessions" || write.type === "messages") return ofSessions[write.command.type].whenFull;
  const job = write.type === "add_bulk_tasks" && "job" in write ? write.job : undefined;
  return job?.action === "cancel" || job?.action === "delete" ? "makes_room" : all[write.type].whenFull;
}

export function makesRoom(write: Write): boolean {
  return whenFull(write) === "makes_room";
}

export function endsWork(write: Write): boolean {
  return whenFull(write) !== undefined;
}

export function isAlone({ type }: TaskCommand): boolean {
  return traits[type].alone === true;
}

export function isOfOneTask({ type }: TaskCommand): boolean {
  return traits[type].ofOneTask === true;
}
