import type {
  Client,
  ClientCapabilities,
  ClientContext,
  HandlerResultTypeMap,
} from "@modelcontextprotocol/client";
import type { InputMethod } from "../../task/journal.ts";
import { traceContextIn } from "../../task/record.ts";
import type { ClientTracing } from "../client-telemetry.ts";
import type { OwnContext } from "../../runtime/own-context.ts";
import { TaskClientError } from "../task-client-error.ts";
import { inTrace } from "../trace-in-params.ts";
import type { InputRequest, OnInput } from "./input-request.ts";

/** Lets the SDK's client pass its questions to `onInput` too. */
export function setSdkQuestionHandlers(
  sdk: Client,
  capabilities: ClientCapabilities,
  onInput: OnInput,
  inOwnContext: OwnContext,
  tracing: ClientTracing | undefined,
): void {
  // The SDK checks that the result fits the method; `onInput` is typed for all methods.
  async function answer<Method extends InputMethod>(
    { mcpReq }: ClientContext,
    request: InputRequest,
  ): Promise<HandlerResultTypeMap[Method]> {
    const trace = traceContextIn(mcpReq._meta ?? {});
    try {
      return (await inOwnContext(() =>
        inTrace(tracing, trace, () => onInput(request)),
      )) as HandlerResultTypeMap[Method];
    } catch (cause) {
      // In a request of the server, the SDK answers with the error. In an answer there is no place for one.
      if (mcpReq.signal.aborted || sdk.getProtocolEra() !== "modern") throw cause;
      const { method } = request;
      if (method === "elicitation/create") return { action: "cancel" } as HandlerResultTypeMap[Method];
      throw new TaskClientError("unanswered", `The server's question (${method}) could not be answered`, {
        cause,
      });
    }
  }
  if (capabilities.elicitation !== undefined) {
    sdk.setRequestHandler("elicitation/create", async ({ method, params }, context) =>
      answer<typeof method>(context, { ...commonOf(context), method, params }),
    );
  }
  if (capabilities.sampling !== undefined) {
    sdk.setRequestHandler("sampling/createMessage", async ({ method, params }, context) =>
      answer<typeof method>(context, { ...commonOf(context), method, params }),
    );
  }
  if (capabilities.roots !== undefined) {
    sdk.setRequestHandler("roots/list", async ({ method, params = {} }, context) =>
      answer<typeof method>(context, { ...commonOf(context), method, params }),
    );
  }
}

// The SDK uses the question's key as the id of the request.
function commonOf({ mcpReq }: ClientContext): { key: string; taskId: null; signal: AbortSignal } {
  return { key: String(mcpReq.id), taskId: null, signal: mcpReq.signal };
}
