import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { taskMethods } from "../../generation/2026-07-28/methods.ts";
import { extensionId, readCapabilities } from "../../generation/2026-07-28/negotiate.ts";
import { idempotencyKeyMeta, recognition } from "../../generation/idempotency-key.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { Access } from "../access.ts";
import type { Answer, ErrorOf } from "../answer.ts";
import type { ToolRequest } from "../tool-request.ts";
import { callTool } from "./call-tool.ts";
import type { Caller } from "../caller.ts";
import { CallStream } from "./call-stream.ts";
import { plainCall } from "./plain-call.ts";
import { resumed } from "./rounds.ts";
import { registerCompanions } from "../plain/companion-tools.ts";
import type { Companions } from "../plain/companions.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import { Exchanges } from "../exchanges.ts";
import { gate } from "./gate.ts";
import { handle } from "./handle.ts";
import { listFor } from "./list-tools.ts";
import { intercept } from "../intercept.ts";
import { registerTool } from "../register-tool.ts";
import { assertNothingReserved } from "../reserved-methods.ts";
import type { Rates } from "../rates/rates.ts";
import { recognisedMs } from "../recognised-ms.ts";
import { unchecked } from "../unchecked.ts";

export interface Attachment {
  readonly runtime: Runtime;
  readonly rates: Rates;
  /** Who is on the other side of this server; null where callers are not told apart. */
  readonly principal: string | null;
  /** What the request may do; left out: everything that its principal may. */
  readonly access?: Access | undefined;
  readonly errorOf: ErrorOf;
  /** Calls of clients that did not declare the extension. */
  readonly plain: PlainCalls;
  readonly companions: Companions;
  /** Lists `required` tools to those clients too. */
  readonly listRequiredTools: boolean;
  /** Whether all requests come on one connection, as on stdio. */
  readonly pipe: boolean;
}

/**
 * Adds the registered tools and the methods of the tasks extension to a server that is not connected yet. The
 * server's own tools, resources and prompts stay as they are.
 */
export function attach(mcp: McpServer, attachment: Attachment): void {
  const { runtime, rates, principal, access, errorOf, plain, companions, listRequiredTools, pipe } =
    attachment;
  const { policies } = plain;
  assertNothingReserved(mcp);
  const exchanges = new Exchanges();
  mcp.server.registerCapabilities({
    extensions: {
      [extensionId]: {},
      // Tells clients that a call may be repeated under its idempotency key, and for how long.
      [idempotencyKeyMeta]: recognition(recognisedMs(runtime.registry, runtime.options)),
    },
  });

  const stream = new CallStream(mcp, {
    pipe,
    amendList: (result, params) =>
      listFor(readCapabilities(params) ?? {}, result, {
        registry: runtime.registry,
        policies,
        listRequiredTools,
      }),
  });
  const callee = { runtime, plain, stream };
  for (const tool of runtime.registry.all()) {
    registerTool(mcp, tool, async (context) => {
      await answer(context, (request, caller) => callTool(callee, tool, request, caller));
      // No output schema is checked on an error; what is sent is the real answer.
      return { content: [], isError: true };
    });
  }
  registerCompanions(mcp, policies, { principal, session: undefined }, async (kind, context) => {
    await answer(context, async (request, caller) => {
      await resumed(runtime, request, principal); // takes the answers that came along
      return companions.answer(kind, plainCall(runtime, request, caller, stream));
    });
    return { content: [], isError: true };
  });
  for (const method of taskMethods) {
    mcp.server.setRequestHandler(method, { params: unchecked }, async (_params, context) => {
      await answer(context, async (request, caller) => ({
        result: { ...(await handle(runtime, method, request, caller, rates)) },
      }));
      return {};
    });
  }
  intercept(mcp, { exchanges, gate: gate(runtime.registry, policies), errorOf, tap: stream });

  async function answer(context: ServerContext, work: Work): Promise<void> {
    const { id, signal } = context.mcpReq;
    const params = exchanges.params(id);
    if (params === undefined) return; // cancelled before it began
    try {
      const caller = { capabilities: readCapabilities(params) ?? {}, principal };
      exchanges.answer(id, await work({ id, params, signal, access }, caller));
    } catch (error) {
      if (signal.aborted && error === signal.reason) return;
      if (isUnknownTask(error)) rates.missed(principal);
      exchanges.answer(id, { error: errorOf(error) });
    }
  }
}

type Work = (request: ToolRequest, caller: Caller) => Promise<Answer>;
