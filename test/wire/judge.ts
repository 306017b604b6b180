import {
  CallToolResultV2Schema,
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  ErrorV2Schema,
  GetTaskResultV2Schema,
  RequestIdV2Schema,
  ServerTaskCapabilityEnvelopeV2Schema,
  TaskStatusNotificationV2Schema,
  TaskSubscriptionAcknowledgedNotificationsV2Schema,
  UpdateTaskResultV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { Message } from "../kit/messages.ts";
import { acknowledged } from "../kit/subscription.ts";
import type { Entry } from "./recorder.ts";

/** What is needed of a schema; the full types of these are too deep to be joined. */
interface Schema {
  safeParse(value: unknown): { success: boolean; data?: unknown; error?: unknown };
}

const base = { jsonrpc: z.literal("2.0"), id: RequestIdV2Schema };
const response = z.union([
  z.strictObject({ ...base, result: z.looseObject({ resultType: z.string() }) }),
  z.strictObject({ ...base, error: z.looseObject({}) }),
]);

/** The schemas of results, by the request that they answer. */
const results: Readonly<Record<string, Schema>> = {
  "tools/call": CallToolResultV2Schema,
  "tasks/get": GetTaskResultV2Schema,
  "tasks/update": UpdateTaskResultV2Schema,
  "tasks/cancel": CancelTaskResultV2Schema,
  // Published is none for the end of a subscription, which is as empty as that of an update.
  "subscriptions/listen": UpdateTaskResultV2Schema,
};

/** What the published schemas have against the server's messages, each with the message; nothing, if all is well. */
export function judge(entries: readonly Entry[]): unknown[] {
  const asked = new Map<unknown, string>();
  const problems: unknown[] = [];
  for (const { from, message } of entries) {
    if (from === "client") asked.set(message?.["id"], String(message?.["method"]));
    else if (message !== undefined) {
      const problem = "id" in message ? inResponse(message, asked) : inNotification(message);
      if (problem !== undefined) problems.push({ message, problem });
    }
  }
  return problems;
}

function inResponse(message: Message, asked: ReadonlyMap<unknown, string>): unknown {
  const { id, result, error } = message;
  const method = asked.get(id);
  if (method === undefined) return "answers no request";
  if (error !== undefined) return against(response, message) ?? against(ErrorV2Schema, error);
  return against(response, message) ?? inResult(method, result as Message);
}

function inResult(method: string, result: Message): unknown {
  if (method === "server/discover") {
    // Of discovery the extension has only its own capability.
    const { success, error } = ServerTaskCapabilityEnvelopeV2Schema.safeParse(result["capabilities"]);
    return success ? undefined : error;
  }
  const isTask = method === "tools/call" && result["resultType"] === "task";
  const schema = isTask ? CreateTaskResultV2Schema : results[method];
  if (schema === undefined) return `no schema for ${method}`;
  return against(schema, result) ?? inTask(result);
}

function inNotification(message: Message): unknown {
  const params = message["params"] as Message;
  if (message["method"] === acknowledged) {
    return against(TaskSubscriptionAcknowledgedNotificationsV2Schema, params["notifications"]);
  }
  return against(TaskStatusNotificationV2Schema, message) ?? inTask(params);
}

/** The result inside a completed task has the form of the call's own. */
function inTask({ status, result }: Message): unknown {
  return status === "completed" && result !== undefined ? against(CallToolResultV2Schema, result) : undefined;
}

/** The schemas drop members that they do not know, so what they give back also tells whether there were any. */
function against(schema: Schema, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (!success) return error;
  return isDeepStrictEqual(data, value) ? undefined : { onlyKnown: data };
}
