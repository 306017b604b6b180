import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { taskMethods } from "../../generation/2026-07-28/methods.ts";
import { extensionId, readCapabilities } from "../../generation/2026-07-28/negotiate.ts";
import { idempotencyKeyMeta } from "../../generation/idempotency-key.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { Answer, ErrorOf } from "../answer.ts";
import type { ToolRequest } from "../tool-request.ts";
import { callTool } from "./call-tool.ts";
import type { Caller } from "../caller.ts";
import { Exchanges } from "../exchanges.ts";
import { gate } from "./gate.ts";
import { handle } from "./handle.ts";
import { intercept } from "../intercept.ts";
import { registerTool } from "../register-tool.ts";
import { assertNothingReserved } from "../reserved-methods.ts";
import type { Rates } from "../rates/rates.ts";
import { unchecked } from "../unchecked.ts";

export interface Attachment {
  readonly runtime: Runtime;
  readonly rates: Rates;
  /** Who is on the other side of this server; null where callers are not told apart. */
  readonly principal: string | null;
  readonly errorOf: ErrorOf;
}

/**
 * Adds the registered tools and the methods of the tasks extension to a server that is not connected yet. The
 * server's own tools, resources and prompts stay as they are.
 */
export function attach(mcp: McpServer, { runtime, rates, principal, errorOf }: Attachment): void {
  assertNothingReserved(mcp);
  const exchanges = new Exchanges();
  mcp.server.registerCapabilities({
    // The second tells clients that a call may be repeated under its idempotency key.
    extensions: { [extensionId]: {}, [idempotencyKeyMeta]: {} },
  });

  for (const tool of runtime.registry.all()) {
    registerTool(mcp, tool, async (context) => {
      await answer(context, (request, caller) => callTool(runtime, tool, request, caller));
      // No output schema is checked on an error; what is sent is the real answer.
      return { content: [], isError: true };
    });
  }
  for (const method of taskMethods) {
    mcp.server.setRequestHandler(method, { params: unchecked }, async (_params, context) => {
      await answer(context, async ({ params }, caller) => ({
        result: { ...(await handle(runtime, method, params, caller, rates)) },
      }));
      return {};
    });
  }
  intercept(mcp, { exchanges, gate: gate(runtime.registry), errorOf });

  async function answer(context: ServerContext, work: Work): Promise<void> {
    const { id, signal } = context.mcpReq;
    const params = exchanges.params(id);
    if (params === undefined) return; // cancelled before it began
    try {
      const caller = { capabilities: readCapabilities(params) ?? {}, principal };
      exchanges.answer(id, await work({ id, params, signal }, caller));
    } catch (error) {
      if (signal.aborted && error === signal.reason) return;
      if (isUnknownTask(error)) rates.missed(principal);
      exchanges.answer(id, { error: errorOf(error) });
    }
  }
}

type Work = (request: ToolRequest, caller: Caller) => Promise<Answer>;
