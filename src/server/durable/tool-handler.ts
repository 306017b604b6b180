import {
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequest,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import { interrupted } from "../../runtime/dispatch/recovery-plan.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import { detailsOf, readsRequests } from "../../runtime/tool/received-request.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import type { ToolHandler } from "../../runtime/tool/tool.ts";
import { AutomaticKeys, isAutomatic, roundKey } from "./automatic-keys.ts";
import { sdkContext } from "./sdk-context.ts";

/** A handler that was written for the SDK, with or without arguments. */
export type SdkHandler = (args: unknown, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>;

/**
 * The handler of a durable tool: runs `handler` of the SDK with the context of a task. One that has only asked its client, and has used
 * nothing of
 * the task itself, does not know that it may run again: unless `mayRepeat`, its task fails after a restart, as that of a handler without
 * any step does.
 */
export function toolHandler(name: string, handler: SdkHandler, mayRepeat: boolean): ToolHandler<unknown> {
  return readsRequests(async (args: unknown, task: TaskContext): Promise<CallToolResult> => {
    if (!mayRepeat && hasOnlyAsked(task)) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, interrupted(name));
    }
    const keys = new AutomaticKeys();
    let answers: Record<string, unknown> | undefined;
    for (let round = 1; ; round++) {
      const returned = await handler(args, sdkContext(task, keys, answers)).catch(rethrow);
      if (!isInputRequiredResult(returned)) return returned;
      answers = await answersTo(name, task, round, returned);
    }
  });
}

/** The SDK turns what a handler throws into a result, even a protocol error, with one exception. */
function rethrow(error: unknown): never {
  const isResult =
    ProtocolError.isInstance(error) && error.code !== Number(ProtocolErrorCode.UrlElicitationRequired);
  throw isResult ? new NonRetryableError(error.message, { cause: error }) : error;
}

function hasOnlyAsked(task: TaskContext): boolean {
  const { entries = [] } = detailsOf(task);
  return entries.length > 0 && entries.every(({ key }) => isAutomatic(key));
}

/** Asks what a round of the handler wants to know: the client of a task makes no further calls for that. */
async function answersTo(
  name: string,
  task: TaskContext,
  round: number,
  { inputRequests = {}, requestState }: InputRequiredResult,
): Promise<Record<string, unknown>> {
  const questions = Object.entries(inputRequests);
  if (requestState !== undefined || questions.length === 0) {
    throw new HoldfastError(
      "configuration",
      `Tool "${name}" returned inputRequired with ${requestState === undefined ? "no questions" : "requestState"}, which has no effect in a task. Ask with inputRequests, and keep state in the steps of ctx.task.`,
    );
  }
  return Object.fromEntries(
    await Promise.all(
      questions.map(async ([key, request]): Promise<[string, unknown]> => [
        key,
        await answerTo(task, roundKey(round, key), request),
      ]),
    ),
  );
}

function answerTo(task: TaskContext, key: JournalKey, request: InputRequest): Promise<unknown> {
  switch (request.method) {
    case "elicitation/create":
      return task.elicit(key, request.params);
    case "sampling/createMessage":
      return task.sample(key, request.params);
    case "roots/list":
      return task.roots(key);
  }
}
