import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { FaultCode } from "../../task/fault.ts";
import type { LimitAnswer, LimitCall } from "../limits.ts";
import type { MessageCommand, MessageResult } from "../message-command.ts";
import type { SessionCommand, SessionResult } from "../session-command.ts";
import type { Sealing } from "../cipher.ts";
import type { TaskChange } from "../store.ts";

/** A write to one of the optional parts of the store. */
export type SessionWrite = { readonly type: "sessions"; readonly command: SessionCommand };
export type MessageWrite = { readonly type: "messages"; readonly command: MessageCommand };
export type LimitWrite = { readonly type: "limits"; readonly call: LimitCall };

/** Replaces the owner's handlers. */
export type HandlersWrite = { readonly type: "handlers"; readonly handlers: readonly HandlerName[] };

/** The owner's report of a minute. */
export type ReportWrite = {
  readonly type: "report";
  readonly minute: number;
  readonly body: string;
  readonly oldest: number;
};

/** Deletes pieces of tasks that have been deleted. */
export type LeftPiecesWrite = { readonly type: "left_pieces"; readonly ids: readonly string[] };

/** Leaves a mark in the file of the database. */
export type FileMark = { readonly type: "mark_file"; readonly mark: string };

export interface DoneResult {
  readonly ok: true;
}

/** How many rows were deleted. */
export interface CountResult {
  readonly ok: true;
  readonly count: number;
}

export type WriterCommand =
  | LeftPiecesWrite
  | TaskCommand
  | SessionWrite
  | MessageWrite
  | LimitWrite
  | HandlersWrite
  | ReportWrite
  | FileMark;

export type WriterResult =
  CountResult | CommandResult | SessionResult | MessageResult | LimitAnswer | DoneResult;

/** What the main thread sends to the writer's thread. It sends a group only after the answer to the one before. */
export type WriterRequest =
  | { readonly type: "group"; readonly commands: readonly WriterCommand[] }
  /** Encrypts from now on. It has no answer. */
  | { readonly type: "encrypt"; readonly sealing: Sealing }
  | { readonly type: "stop" };

/** The answer to one command of a committed group; with `problem` it changed nothing. */
export type CommandAnswer =
  { readonly result: WriterResult } | { readonly problem: string; readonly code: FaultCode };

export type WriterAnswer =
  | { readonly type: "ready" }
  | { readonly type: "unusable"; readonly code: FaultCode; readonly message: string }
  /** Committed to disk; one answer per command, in order. */
  | {
      readonly type: "committed";
      readonly answers: readonly CommandAnswer[];
      readonly changes: readonly TaskChange[];
    }
  /** Nothing of the group was written. */
  | { readonly type: "failed"; readonly problem: string; readonly code: FaultCode };
