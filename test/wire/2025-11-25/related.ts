import type { Message } from "./transcript.ts";

const key = "io.modelcontextprotocol/related-task";

/** Requests whose results belong to a task and say so; those of get, list and cancel name it in the result itself. */
const tellsIn = new Set(["tools/call", "tasks/result"]);

/**
 * What is wrong with where a message says which task it belongs to (C-063, C-069, C-098, C-099, C-101, C-102);
 * undefined where it is right. `asked` are the requests of the client.
 */
export function relatedProblem(
  message: Message,
  request: Message | undefined,
  asked: readonly Message[],
): string | undefined {
  const found = relatedIn((message["result"] ?? message["params"]) as Message | undefined);
  const wanted = taskOf(message, request, asked);
  if (wanted === "any task") return found === undefined ? "does not say which task it is of" : undefined;
  return found === wanted ? undefined : `is related to ${String(found)} instead of ${String(wanted)}`;
}

function relatedIn(body: Message | undefined): unknown {
  const meta = body?.["_meta"] as Message | undefined;
  return (meta?.[key] as Message | undefined)?.["taskId"];
}

/** The id that has to be there, if one has to. */
function taskOf(message: Message, request: Message | undefined, asked: readonly Message[]): unknown {
  const { method, params, result } = message as { method?: string; params?: Message; result?: Message };
  if (request !== undefined) {
    if (result === undefined || !tellsIn.has(String(request["method"]))) return undefined;
    const task = result["task"] as Message | undefined;
    return task?.["taskId"] ?? (request["params"] as Message)["taskId"];
  }
  if (method === "notifications/progress") {
    const call = asked.find((one) => tokenOf(one) === params?.["progressToken"]);
    return isTask(call) ? "any task" : undefined;
  }
  const ofTask = method === "elicitation/create" || method === "sampling/createMessage";
  // One session of a scenario asks either in tasks or without.
  return (ofTask || method === "notifications/cancelled") && asked.some(isTask) ? "any task" : undefined;
}

function tokenOf({ params }: Message): unknown {
  return ((params as Message | undefined)?.["_meta"] as Message | undefined)?.["progressToken"];
}

function isTask(request: Message | undefined): boolean {
  return (request?.["params"] as Message | undefined)?.["task"] !== undefined;
}
