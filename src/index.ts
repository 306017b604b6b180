import "./runtime/require-node.ts";
export { createTasks, type Tasks } from "./server/tasks.ts";
export type { Admin, AdminActs, AdminReads } from "./admin/operations.ts";
export type {
  AdminAction,
  Counts,
  OpenQuestion,
  RetryOptions,
  ShownLine,
  TaskChanges,
  TaskDetails,
  TaskPage,
  TaskQuery,
  TaskSelection,
  AdminTaskState,
  AdminWaitReason,
  TaskSummary,
  ToolCounts,
} from "./admin/admin.ts";
export type { Callers, CallersQuery, CallerUsage, StepLatency, ToolLatency } from "./admin/activity.ts";
export type { FailureGroup, Incident, IncidentMark, MarkOptions } from "./admin/incident-operations.ts";
export type { OperatorSession } from "./admin/incident-operations.ts";
export type { OperatorRole } from "./admin/roles.ts";
export type { TimelineEntry, TimelinePage, TimelineQuery, TimelineSummary } from "./admin/task-parts.ts";
export type {
  DeliveryPage,
  DeliveryQuery,
  Resent,
  ResendOptions,
  TaskDelivery,
  WebhookBacklog,
} from "./admin/task-parts.ts";
export type { BulkAction, BulkOptions, BulkResult } from "./admin/task-operations.ts";
export type { Activity, DrainOptions, NodeSummary, RefusalActivity, ToolActivity } from "./admin/activity.ts";
export type { PollingToolOptions, TasksOptions } from "./server/tasks-options.ts";
export type {
  EventInput,
  EventName,
  EventSchemas,
  EventValue,
  EventWait,
  SendOptions,
} from "./runtime/tool/declared-events.ts";
export { serveTransport, type TransportConnection, type TransportOptions } from "./server/serve-transport.ts";
export { durable, type DurableServer } from "./server/durable/durable.ts";
export type { DurableContext, TaskSettings } from "./server/durable/registrations.ts";
export type { ServerFactory } from "./server/author-server.ts";
export type { TaskServer } from "./server/task-server.ts";
export type { TaskCaller } from "./runtime/tool/task-caller.ts";
export type { RequestedTtl, Role, RuntimeOptions } from "./runtime/options.ts";
export type { WebhookEvent, WebhookOptions } from "./runtime/webhooks/webhook-options.ts";
export type { EventError, ServerEvent } from "./runtime/events/server-event.ts";
export type { PrepareContext } from "./runtime/tool/received-request.ts";
export type { Backoff } from "./runtime/clock.ts";
export type {
  DurableTool,
  ToolChanges,
  CheckedHandler,
  OlderVersion,
  Prepare,
  ToolConfig,
  ToolHandler,
} from "./runtime/tool/tool.ts";
export type {
  RetryPolicy,
  InputCapability,
  OnCrash,
  PlainPolicy,
  TaskMode,
} from "./runtime/tool/tool-options.ts";
export { NonRetryableError, TaskCallError } from "./runtime/tool/tool-errors.ts";
export { retryLater, type RetryLater } from "./runtime/tool/tool-errors.ts";
export type * from "./runtime/limits/limit-name.ts"; // whole, so that programs can add to it
export type { LimitOptions } from "./runtime/limits/limit-options.ts";
export {
  ExecError,
  type ExecArtifacts,
  type ExecOptions,
  type ExecResult,
} from "./runtime/exec/exec-options.ts";
export type {
  EventOptions,
  NextRound,
  RoundContext,
  StepContext,
  StepFunction,
  StepOptions,
  TaskContext,
} from "./runtime/tool/task-context.ts";
export type {
  PollOptions,
  ToolReference,
  ToolResult,
  AllOptions,
  CallArguments,
  CalledTool,
  CallResult,
  ToolCall,
} from "./runtime/tool/called-tool.ts";
export type { ElicitAnswer, ElicitParams, Form } from "./runtime/questions/form.ts";
export type {
  HandlerReturn,
  PlainData,
  Returnable,
  ReturnCheck,
  ArtifactData,
  ArtifactOptions,
  ArtifactSource,
} from "./runtime/tool/handler-return.ts";
export type { StructuredContent, ToolArguments, ToolInput } from "./runtime/tool/schema.ts";
export {
  worker,
  type WorkerExport,
  type WorkerInput,
  type WorkerModule,
  type WorkerOptions,
  type WorkerOutput,
} from "./runtime/threads/worker-options.ts";
export type { WorkerStepContext } from "./runtime/threads/worker-context.ts";
export type { TimeSpan } from "./task/time.ts";
export type { JournalKey } from "./task/journal.ts";
export type { LogLevel } from "./task/task-line.ts";
export { HoldfastError, type FaultCode } from "./task/fault.ts";
