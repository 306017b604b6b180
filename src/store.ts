export { storeFromUrl, type StoreUrlOptions } from "./store/from-url.ts";
export { codecOf, type Sealing } from "./store/cipher.ts";
export type { Codec, Place } from "./store/row.ts";
export type { ProtectedStore, Protection } from "./store/protection.ts";
export type { StoredSecrets } from "./store/secrets.ts";
export type { Blobs } from "./store/blobs.ts";
export { folderBlobs } from "./runtime/blobs/artifact-blobs.ts";
export { s3Blobs, type SignedFetch } from "./store/s3-blobs.ts";
export { encryptedStore, type EncryptionOptions } from "./store/encrypted-store.ts";
export type { EncryptionKey } from "./store/encryption-keys.ts";

// For databases of others.
export {
  storeOnTables,
  storeTables,
  tablePort,
  type StoreTables,
  type TableConnection,
  type TableDatabase,
  type TableStatement,
} from "./store/sqlite/store-on-tables.ts";

// For authors of stores: the port, what its commands do, and what goes through it.
export type {
  AdminStore,
  EndedAs,
  PausedTool,
  TaskRange,
  LivingOwner,
  NodeReport,
  NodeReports,
} from "./store/admin-store.ts";
export type {
  LimitAnswer,
  LimitCall,
  LimitHolder,
  LimitJoin,
  LimitPlace,
  LimitStore,
} from "./store/limits.ts";
export type {
  MessageQueues,
  NewMessage,
  PutMessageResult,
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
  HeldToken,
  KeyedTask,
  ListedEntry,
  OwnerLease,
  Renewal,
  StoreChanges,
  TaskChange,
  TaskFilter,
  TaskStore,
  WireName,
} from "./store/store.ts";
export type { Outbox, WaitingDeliveries } from "./store/outbox.ts";
export type { TaskLogs } from "./store/store.ts";
export type { ArtifactPieces } from "./store/store.ts";
export type {
  Action,
  ActionBy,
  StoredAction,
  TaskSnapshot,
  NewTask,
  TaskChanges,
  Expiry,
  GenerationName,
  Origin,
  Progress,
  TaskMethod,
  TaskRecord,
  TaskRequest,
} from "./task/record.ts";
export type { AttemptEnd, TaskAttempt } from "./task/attempts.ts";
export type {
  CommandResult,
  Refusal,
  Refused,
  UnreadableTask,
  TaskCommand,
  TaskCommandName,
  TaskCommands,
} from "./task/command.ts";
export { createRecord, isSameCall } from "./task/record-changes.ts";
export { decide, type Circumstances, type Decision, type TaskChangeCommand } from "./task/decide.ts";
export type { Delivery, DeliveryCommands, DeliveryEvent, StoredDelivery } from "./task/delivery.ts";
export { HoldfastError, type FaultCode } from "./task/fault.ts";
export type {
  InputAnswer,
  InputMethod,
  InputRequest,
  JournalEnd,
  JournalEntry,
  JournalHead,
  JournalKind,
} from "./task/journal.ts";
export type { HandlerName, StoreOwner } from "./task/queue.ts";
export type { Outcome, OutcomeKind, TaskState } from "./task/outcome.ts";
export type { LineList, LogLevel, LogText, TaskLine } from "./task/task-line.ts";
export type { TaskEvent } from "./task/transition.ts";
