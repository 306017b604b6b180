export { storeFromUrl } from "./store/from-url.ts";

// For authors of stores: the port, what its commands do, and what goes through it.
export type { AdminStore, EndedAs, PausedTool, TaskRange } from "./store/admin-store.ts";
export type { MessageQueues, NewMessage, PutMessageResult } from "./store/message-queues.ts";
export type {
  SessionEnd,
  SessionListener,
  SessionNews,
  SessionRoom,
  SessionStore,
  StoredSession,
} from "./store/session-store.ts";
export type {
  ChangedBy,
  ChangeListener,
  JournalPage,
  KeyedTask,
  ListedEntry,
  Renewal,
  StoreChanges,
  TaskChange,
  TaskFilter,
  TaskStore,
  WireName,
} from "./store/store.ts";
export type { TaskLogs } from "./store/task-logs.ts";
export type { Action, ActionBy, StoredAction } from "./task/action.ts";
export type { AttemptEnd, TaskAttempt } from "./task/attempts.ts";
export type { TaskSnapshot } from "./task/snapshot.ts";
export type { CommandResult, Refusal, Refused, UnreadableTask } from "./task/command-result.ts";
export type { NewTask, TaskChanges, TaskCommand, TaskCommandName, TaskCommands } from "./task/command.ts";
export { createRecord, isSameCall } from "./task/create-record.ts";
export { decide, type Circumstances, type Decision, type TaskChangeCommand } from "./task/decide.ts";
export type { Expiry } from "./task/expiry.ts";
export { HoldfastError, type FaultCode } from "./task/fault.ts";
export type { InputAnswer, InputMethod, InputRequest } from "./task/input.ts";
export type { JournalEnd, JournalEntry, JournalHead, JournalKind } from "./task/journal.ts";
export type { HandlerName, StoreOwner } from "./task/owner.ts";
export type { Outcome, OutcomeKind } from "./task/outcome.ts";
export type { GenerationName, Origin, Progress, TaskMethod, TaskRecord, TaskRequest } from "./task/record.ts";
export type { TaskState } from "./task/status.ts";
export type { LineList, LogLevel, LogText, TaskLine } from "./task/task-line.ts";
export type { TaskEvent } from "./task/transition.ts";
