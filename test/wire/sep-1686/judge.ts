import {
  CallToolResultSchema,
  JSONRPCMessageSchema,
  ProgressNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { questionKeyMeta, toolMeta } from "../../../src/generation/extensions.ts";
import { wireStatuses } from "../../../src/generation/sep-1686.ts";
import type { Entry, Message } from "../2025-11-25/transcript.ts";

// The proposal has no schema of its own: these are its data types, and in `_meta`, which is open to what vendors add, two names
// of ours.
const key = "modelcontextprotocol.io/related-task";
const _meta = z.strictObject({ [key]: z.strictObject({ taskId: z.string() }) });
const tool = { [toolMeta]: z.string().optional() };
const task = z.strictObject({
  taskId: z.string(),
  status: z.enum(wireStatuses),
  keepAlive: z.number().nullable(),
  pollFrequency: z.number().optional(),
  error: z.string().optional(),
  _meta: z.strictObject(tool).optional(),
});

const results: Readonly<Record<string, z.ZodType>> = {
  initialize: z.looseObject({}),
  "tools/call": CallToolResultSchema,
  "tasks/get": task.extend({ _meta: _meta.extend(tool) }),
  "tasks/result": CallToolResultSchema,
  "tasks/delete": z.strictObject({ _meta }),
  "tasks/list": z.strictObject({ tasks: z.array(task), nextCursor: z.string().optional() }),
};

const messages: Readonly<Record<string, z.ZodType>> = {
  "notifications/tasks/created": z.strictObject({ _meta }),
  "elicitation/create": z.looseObject({ _meta: _meta.extend({ [questionKeyMeta]: z.string() }) }),
};

/** What is wrong with the server's messages, each with the message; nothing, if all is well. */
export function judge(sent: readonly Entry[], arrived: readonly Entry[]): unknown[] {
  const asked = new Map<unknown, Message>();
  for (const { from, message } of sent)
    if (from === "client" && "method" in message) asked.set(message["id"], message);
  return arrived.flatMap(({ message }) => {
    const problem = problemOf(message, "method" in message ? undefined : asked.get(message["id"]));
    return problem === undefined ? [] : [{ message, problem }];
  });
}

function problemOf(message: Message, request: Message | undefined): unknown {
  if (!JSONRPCMessageSchema.safeParse(message).success) return "is no message";
  const { method, params, result } = message as { method?: string; params?: Message; result?: Message };
  if (method === "notifications/progress") {
    if (!ProgressNotificationSchema.safeParse(message).success) return "is no progress";
    return _meta.safeParse(params?.["_meta"]).error;
  }
  if (method !== undefined) return messages[method]?.safeParse(params).error ?? unknown(messages[method]);
  if (request === undefined) return "answers no request";
  if (result === undefined) return undefined;
  const schema = results[String(request["method"])];
  return schema?.safeParse(result).error ?? unknown(schema) ?? relatedProblem(request, result);
}

function unknown(schema: z.ZodType | undefined): string | undefined {
  return schema === undefined ? "is nothing that these know" : undefined;
}

/** A result is of the task that its request names, or became; a tool that makes none is of no task. */
function relatedProblem({ method, params }: Message, result: Message): string | undefined {
  const { taskId, name, _meta: meta } = params as { taskId?: string; name?: string; _meta?: Message };
  const asked = (meta?.["modelcontextprotocol.io/task"] as Message | undefined)?.["taskId"];
  const wanted = method === "tools/call" && name === "copy" ? undefined : (taskId ?? asked);
  const found = ((result["_meta"] as Message | undefined)?.[key] as Message | undefined)?.["taskId"];
  return found === wanted ? undefined : `is related to ${String(found)} instead of ${String(wanted)}`;
}
