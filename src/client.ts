export { remoteAdmin } from "./admin/remote-admin.ts";
export type { RemoteAdminOptions } from "./admin/remote-endpoint.ts";
export { fileLogins } from "./client/auth/file-logins.ts";
export { logIn } from "./client/auth/log-in.ts";
export type { LogInOptions, LoginAddress } from "./client/auth/login-run.ts";
export type { Grant, Login, LoginClient, LoginStore } from "./client/auth/login.ts";
export { logOut } from "./client/auth/log-out.ts";
export type { LogOutOptions, LogOutResult } from "./client/auth/log-out.ts";
export { memoryLogins } from "./client/auth/memory-logins.ts";
export { connect } from "./client/connect.ts";
export type { ConnectOptions } from "./client/connect-options.ts";
export type { ProtocolVersion } from "./generation/generations.ts";
export type { ClientEvent, WaitOutcome } from "./client/client-events.ts";
export type {
  InputFailure,
  InputRequest,
  InputResult,
  OnInput,
  OnInputError,
} from "./client/question/input-request.ts";
export { fileHandles } from "./client/handles/file-handles.ts";
export type {
  CallName,
  DamagedEntry,
  HandleStore,
  StoredCall,
  StoredCalls,
  ResumableSession,
} from "./client/handles/handle-store.ts";
export { memoryHandles } from "./client/handles/memory-handles.ts";
export type { PendingCall } from "./client/call/pending-call.ts";
export type { ReceiveTasksOptions } from "./client/connect-options.ts";
export type {
  CancelledTask,
  CompletedTask,
  FailedTask,
  InputRequiredTask,
  OpenQuestion,
  RemoteTask,
  WorkingTask,
} from "./client/task/remote-task.ts";
export type { ListedTask, TaskPage } from "./client/task/listed-task.ts";
export type {
  CallAndWaitOptions,
  CallOptions,
  ListOptions,
  ReadOptions,
  SaveOptions,
  TaskClient,
} from "./client/task-client.ts";
export { TaskClientError, type TaskClientErrorCode } from "./client/task-client-error.ts";
export type { TaskArtifact } from "./client/artifact/list-artifacts.ts";
export type { SavedArtifact } from "./client/artifact/save-artifact.ts";
export type { LinesOptions, TaskHandle, WaitOptions } from "./client/task/task-handle.ts";
export type { LogLine, OutputPart } from "./client/task/task-lines.ts";
export type { TaskReference } from "./client/task/task-reference.ts";
export type { ServerTarget } from "./client/transport/server-connection.ts";
export type { ServerProcess } from "./client/transport/server-process.ts";
