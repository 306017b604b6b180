import {
  CallToolResultV1Schema,
  CancelTaskResultV1Schema,
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  ListTasksResultV1Schema,
  ServerCapabilitiesV1Schema,
  TaskStatusNotificationV1Schema,
  ToolV1Schema,
} from "@modelcontextprotocol/ext-tasks/core/v1";
import {
  CallToolResultSchema,
  CancelledNotificationSchema,
  CancelTaskRequestSchema,
  CancelTaskResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  GetTaskResultSchema,
  InitializeResultSchema,
  JSONRPCMessageSchema,
  ListTasksResultSchema,
  ListToolsResultSchema,
  ProgressNotificationSchema,
  TaskStatusNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { relatedProblem } from "./related.ts";
import type { Entry, Message } from "./transcript.ts";

/** What is needed of a schema; the types of these are too deep to be joined. */
interface Schema {
  safeParse(value: unknown): { success: boolean; error?: unknown };
}

/** Of results, by the request that they answer; a call that asked for a task is named by what it asked for. */
const results: Readonly<Record<string, readonly Schema[]>> = {
  initialize: [InitializeResultSchema],
  "tools/list": [ListToolsResultSchema],
  "tools/call": [CallToolResultSchema, CallToolResultV1Schema],
  task: [CreateTaskResultSchema, CreateTaskResultV1Schema],
  "tasks/get": [GetTaskResultSchema, GetTaskResultV1Schema],
  "tasks/result": [CallToolResultSchema, CallToolResultV1Schema],
  "tasks/list": [ListTasksResultSchema, ListTasksResultV1Schema],
  "tasks/cancel": [CancelTaskResultSchema, CancelTaskResultV1Schema],
};

/** Of what the server sends by itself; of most of it ext-tasks says nothing. */
const messages: Readonly<Record<string, readonly Schema[]>> = {
  "elicitation/create": [ElicitRequestSchema],
  "sampling/createMessage": [CreateMessageRequestSchema],
  "tasks/get": [GetTaskRequestSchema],
  "tasks/result": [GetTaskPayloadRequestSchema],
  "tasks/cancel": [CancelTaskRequestSchema],
  "notifications/progress": [ProgressNotificationSchema],
  "notifications/cancelled": [CancelledNotificationSchema],
  "notifications/tasks/status": [TaskStatusNotificationSchema, TaskStatusNotificationV1Schema],
};

/** What SDK v1 and ext-tasks have against the server's messages, each with the message; nothing, if all is well. */
export function judge(sent: readonly Entry[], arrived: readonly Entry[]): unknown[] {
  const asked = new Map<unknown, Message>();
  for (const { from, message } of sent)
    if (from === "client" && "method" in message) asked.set(message["id"], message);
  return arrived.flatMap(({ message }) => {
    const request = "method" in message ? undefined : asked.get(message["id"]);
    const problem = schemaProblem(message, request) ?? relatedProblem(message, request, [...asked.values()]);
    return problem === undefined ? [] : [{ message, problem }];
  });
}

function schemaProblem(message: Message, request: Message | undefined): unknown {
  const outer = against([JSONRPCMessageSchema], message);
  if (outer !== undefined) return outer;
  const { method, result, error } = message as { method?: string; result?: unknown; error?: unknown };
  if (method !== undefined) return against(messages[method], message);
  if (request === undefined) return "answers no request";
  if (error !== undefined) return undefined; // which is all that there is to an error
  const asked = String(request["method"]);
  const isTask = asked === "tools/call" && (request["params"] as Message)["task"] !== undefined;
  return against(results[isTask ? "task" : asked], result) ?? inHandshake(asked, result as Message);
}

/** What ext-tasks reads of a server before it sends it anything. */
function inHandshake(method: string, result: Message): unknown {
  if (method === "initialize") return against([ServerCapabilitiesV1Schema], result["capabilities"]);
  if (method !== "tools/list") return undefined;
  return (result["tools"] as unknown[]).map((tool) => against([ToolV1Schema], tool)).find(Boolean);
}

function against(schemas: readonly Schema[] | undefined, value: unknown): unknown {
  if (schemas === undefined) return "is nothing that these know";
  return schemas.map((schema) => schema.safeParse(value)).find(({ success }) => !success)?.error;
}
