import type { Activity, NodeSummary, RefusalActivity, ToolActivity } from "../activity.ts";
import {
  byMinute,
  listOf,
  numberOrNull,
  objectOf,
  reference,
  type Schema,
  text,
  textOrNull,
  time,
  timeOrNull,
  whole,
  wholeOrNull,
  yesOrNo,
  anything,
  type Members,
  oneOf,
  taken,
} from "./schema.ts";
import type { TaskAttempt } from "../../task/attempts.ts";
import { generationNames } from "../../task/record.ts";
import type {
  AdminAction,
  BulkOptions,
  BulkResult,
  Counts,
  FailureGroup,
  OpenQuestion,
  RetryOptions,
  TaskChanges,
  TaskDelivery,
  TaskDetails,
  TaskPage,
  TaskSelection,
  TaskSummary,
  TimelineEntry,
  ToolCounts,
  WebhookBacklog,
} from "../admin.ts";
import { adminTaskStates } from "../assert-query.ts";
import { bulkActions, mostInBulk, type BulkRequest } from "./read-request.ts";

/** The schemas of processes and activity, by the names of their types. */
export const activitySchemas: Readonly<Record<string, Schema>> = {
  Activity: objectOf<Activity>({
    from: time,
    minutes: whole,
    created: byMinute,
    completed: byMinute,
    failed: byMinute,
    cancelled: byMinute,
    tools: listOf(reference("ToolActivity")),
    refusals: listOf(reference("RefusalActivity")),
  }),
  ToolActivity: objectOf<ToolActivity>({
    tool: text,
    created: whole,
    completed: whole,
    failed: whole,
    cancelled: whole,
    retried: whole,
    ended: byMinute,
    p50Ms: numberOrNull,
    p95Ms: numberOrNull,
  }),
  RefusalActivity: objectOf<RefusalActivity>({
    code: text,
    method: textOrNull,
    count: whole,
    byMinute,
  }),
  NodeSummary: objectOf<NodeSummary>({
    id: text,
    alive: yesOrNo,
    host: textOrNull,
    pid: wholeOrNull,
    version: textOrNull,
    startedAt: timeOrNull,
    reportedAt: timeOrNull,
    roles: listOf(text),
    slots: {
      type: ["object", "null"],
      properties: { used: whole, limit: whole },
      required: ["used", "limit"],
    },
    running: whole,
    parked: wholeOrNull,
    leaked: wholeOrNull,
    loopDelay: {
      type: ["object", "null"],
      description: "In milliseconds.",
      properties: { p50: { type: "number" }, p99: { type: "number" }, max: { type: "number" } },
      required: ["p50", "p99", "max"],
    },
    memoryBytes: wholeOrNull,
  }),
};

const summary: Members<TaskSummary> = {
  id: text,
  tool: text,
  state: reference("AdminTaskState"),
  principal: textOrNull,
  generation: oneOf(generationNames),
  method: text,
  createdAt: time,
  startedAt: timeOrNull,
  updatedAt: time,
  finishedAt: timeOrNull,
  expiresAt: timeOrNull,
  wakesAt: timeOrNull,
  attempt: whole,
  statusMessage: textOrNull,
  progress: {
    type: ["object", "null"],
    properties: { progress: { type: "number" }, total: { type: "number" }, message: text },
    required: ["progress"],
  },
  error: textOrNull,
  owner: textOrNull,
  parent: textOrNull,
};

const lines: Schema = listOf({ type: "object" });

const details: Members<TaskDetails> = {
  ...summary,
  wireId: text,
  arguments: anything,
  retryOf: textOrNull,
  toolVersion: { type: ["integer", "null"] },
  failures: whole,
  crashes: whole,
  cancelRequestedAt: timeOrNull,
  retrieved: { type: ["object", "null"], properties: { at: time, via: text }, required: ["at", "via"] },
  requiredScopes: listOf(text),
  traceId: textOrNull,
  attempts: listOf(reference("TaskAttempt")),
  timeline: listOf(reference("TimelineEntry")),
  timelineIsCut: yesOrNo,
  questions: listOf(reference("OpenQuestion")),
  children: listOf(reference("TaskSummary")),
  outcome: {
    type: ["object", "null"],
    properties: { kind: oneOf(["result", "error_result", "error"]), body: anything },
    required: ["kind", "body"],
  },
  log: lines,
  output: lines,
  deliveries: listOf(reference("TaskDelivery")),
  actions: listOf(reference("AdminAction")),
};

const method: Schema = { type: ["string", "null"] };

/** The schemas of requests and answers, by the names of their types. */
export const schemas: Readonly<Record<string, Schema>> = {
  AdminTaskState: oneOf(adminTaskStates),
  TaskSummary: objectOf<TaskSummary>(summary),
  TaskPage: objectOf<TaskPage>({ tasks: listOf(reference("TaskSummary")), next: textOrNull }),
  TaskDetails: objectOf<TaskDetails>(details),
  TaskAttempt: objectOf<TaskAttempt>(
    {
      number: whole,
      owner: text,
      startedAt: time,
      endedAt: timeOrNull,
      end: textOrNull,
      error: text,
      stack: text,
    },
    ["error", "stack"],
  ),
  TimelineEntry: objectOf<TimelineEntry>({
    key: text,
    kind: oneOf(["step", "input", "sleep", "call", "event"]),
    method,
    begunAt: timeOrNull,
    doneAt: timeOrNull,
    durationMs: { type: ["integer", "null"] },
    tries: whole,
    until: timeOrNull,
    error: textOrNull,
    childId: textOrNull,
  }),
  TaskDelivery: objectOf<TaskDelivery>({
    webhook: text,
    event: oneOf(["created", "working", "input_required", "completed", "failed", "cancelled", "deleted"]),
    at: time,
    tries: whole,
    nextAt: timeOrNull,
    problem: textOrNull,
  }),
  OpenQuestion: objectOf<OpenQuestion>({ key: text, method: text, params: anything }),
  AdminAction: objectOf<AdminAction>({
    seq: whole,
    at: time,
    actor: text,
    action: text,
    taskId: textOrNull,
    tool: textOrNull,
    detail: anything,
  }),
  ToolCounts: objectOf<ToolCounts>({
    tool: text,
    queued: whole,
    waiting: whole,
    running: whole,
    inputRequired: whole,
    completed: whole,
    failed: whole,
    cancelled: whole,
    paused: {
      type: ["object", "null"],
      properties: { since: time, actor: text },
      required: ["since", "actor"],
    },
  }),
  Counts: objectOf<Counts>({
    most: whole,
    tools: listOf(reference("ToolCounts")),
  }),
  WebhookBacklog: objectOf<WebhookBacklog>({
    webhook: text,
    waiting: whole,
    givenUp: whole,
    lastFailure: {
      type: ["object", "null"],
      properties: { at: time, problem: text },
      required: ["at", "problem"],
    },
  }),
  TaskChanges: objectOf<TaskChanges>({ tasks: { type: ["array", "null"], items: text } }),
  ...activitySchemas,
  Resent: objectOf<{ resent: number }>({ resent: whole }),
  FailureGroup: objectOf<FailureGroup>({
    message: text,
    count: whole,
    taskId: text,
    firstAt: time,
    lastAt: time,
  }),
  Nothing: { type: "object", additionalProperties: false },
  Answers: taken(objectOf<{ answers: unknown }>({ answers: { type: "object" } })),
  RetryOptions: taken(
    objectOf<RetryOptions>({ arguments: anything, keepUpTo: text }, ["arguments", "keepUpTo"]),
  ),
  Extension: taken(objectOf<{ until: number | null }>({ until: { type: ["number", "null"] } })),
  TaskSelection: taken(
    objectOf<TaskSelection>(
      {
        states: listOf(reference("AdminTaskState")),
        tool: text,
        principal: textOrNull,
        owner: text,
        createdFrom: { type: "number" },
        createdBefore: { type: "number" },
        text,
      },
      ["states", "tool", "principal", "owner", "createdFrom", "createdBefore", "text"],
    ),
  ),
  BulkOptions: taken(
    objectOf<BulkOptions>(
      {
        dryRun: yesOrNo,
        limit: { type: "integer", minimum: 1, maximum: mostInBulk, default: 1_000 },
        until: { type: ["number", "null"], description: "Epoch milliseconds; null: no limit." },
        after: text,
      },
      ["dryRun", "limit", "until", "after"],
    ),
  ),
  BulkRequest: taken(
    objectOf<BulkRequest>(
      {
        action: oneOf(bulkActions),
        selection: reference("TaskSelection"),
        options: reference("BulkOptions"),
      },
      ["options"],
    ),
  ),
  BulkResult: objectOf<BulkResult>({
    done: listOf(text),
    created: listOf(text),
    refused: listOf(objectOf<BulkResult["refused"][number]>({ id: text, code: text, message: text })),
    next: textOrNull,
  }),
  Refusal: objectOf<{ error: unknown }>({
    error: objectOf<{ code: string; message: string }>({ code: text, message: text }),
  }),
};
