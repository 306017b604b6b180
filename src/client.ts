export { remoteAdmin } from "./admin/remote-admin.ts";
export type { RemoteAdminOptions } from "./admin/remote-admin.ts";
export { fileLogins } from "./client/auth/file-logins.ts";
export { logIn, logOut, type LogOutOptions, type LogOutResult } from "./client/auth/log-in.ts";
export type { LogInOptions, LoginAddress } from "./client/auth/login-run.ts";
export {
  type Grant,
  type Login,
  type LoginClient,
  type LoginStore,
  memoryLogins,
} from "./client/auth/login.ts";
export { connect } from "./client/connect.ts";
export type { ConnectOptions, ReceiveTasksOptions } from "./client/connect-options.ts";
export type { ProtocolVersion } from "./generation/generations.ts";
export type { ClientEvent, WaitOutcome } from "./client/client-events.ts";
export type {
  InputFailure,
  InputRequest,
  InputResult,
  OnInput,
  OnInputError,
} from "./client/question/ask-user.ts";
export { fileHandles } from "./client/handles/file-handles.ts";
export {
  type CallName,
  type DamagedEntry,
  type HandleStore,
  type StoredCall,
  type StoredCalls,
  type ResumableSession,
  memoryHandles,
} from "./client/handles/handle-store.ts";
export type { PendingCall } from "./client/call/pending-call.ts";
export type {
  CancelledTask,
  CompletedTask,
  FailedTask,
  InputRequiredTask,
  OpenQuestion,
  RemoteTask,
  WorkingTask,
  ListedTask,
  TaskPage,
  TaskReference,
} from "./client/task/remote-task.ts";
export type {
  CallAndWaitOptions,
  CallOptions,
  ListOptions,
  ReadOptions,
  SaveOptions,
  TaskClient,
} from "./client/task-client.ts";
export { TaskClientError, type TaskClientErrorCode } from "./client/task-client-error.ts";
export type { TaskArtifact, LogLine, OutputPart } from "./client/task/task-requests.ts";
export type { SavedArtifact } from "./client/artifact/save-artifact.ts";
export type { LinesOptions, TaskHandle, WaitOptions } from "./client/task/task-handle.ts";
export type { ServerTarget } from "./client/transport/server-connection.ts";
export type { ServerProcess } from "./client/transport/process-transport.ts";
