import type {
  Client,
  ClientCapabilities,
  ClientContext,
  HandlerResultTypeMap,
} from "@modelcontextprotocol/client";
import type { InputMethod } from "../../task/input.ts";
import type { InputRequest, OnInput } from "./input-request.ts";

/** Gives the SDK's client the same callback, for questions in the calls that are made through it. */
export function setSdkHandlers(sdk: Client, capabilities: ClientCapabilities, onInput: OnInput): void {
  // The SDK types a result by its method, and checks it; the callback's type says only that it is one of them.
  async function answer<Method extends InputMethod>(
    request: InputRequest,
  ): Promise<HandlerResultTypeMap[Method]> {
    return (await onInput(request)) as HandlerResultTypeMap[Method];
  }
  if (capabilities.elicitation !== undefined) {
    sdk.setRequestHandler("elicitation/create", async ({ method, params }, context) =>
      answer<typeof method>({ ...commonOf(context), method, params }),
    );
  }
  if (capabilities.sampling !== undefined) {
    sdk.setRequestHandler("sampling/createMessage", async ({ method, params }, context) =>
      answer<typeof method>({ ...commonOf(context), method, params }),
    );
  }
  if (capabilities.roots !== undefined) {
    sdk.setRequestHandler("roots/list", async ({ method, params = {} }, context) =>
      answer<typeof method>({ ...commonOf(context), method, params }),
    );
  }
}

// The SDK gives the question's key for the id of the request.
function commonOf({ mcpReq }: ClientContext): { key: string; taskId: null; signal: AbortSignal } {
  return { key: String(mcpReq.id), taskId: null, signal: mcpReq.signal };
}
