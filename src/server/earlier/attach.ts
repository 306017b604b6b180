import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { taskMethods } from "../../generation/2025-11-25/methods.ts";
import { isUnknownTask } from "../../task/fault.ts";
import { callTool } from "../2025-11-25/call-tool.ts";
import { gate } from "../2025-11-25/gate.ts";
import { plainCall } from "../2025-11-25/plain-call.ts";
import { TaskCalls } from "../2025-11-25/task-calls.ts";
import type { Access } from "../access.ts";
import type { Answer } from "../answer.ts";
import { intercept } from "../intercept.ts";
import { registerCompanions } from "../plain/companion-tools.ts";
import { registerTool } from "../register-tool.ts";
import { assertNothingReserved } from "../reserved-methods.ts";
import { answerAsTask } from "../sep-1686/answer-as-task.ts";
import { sepGate } from "../sep-1686/gate.ts";
import { Reads } from "../sep-1686/reads.ts";
import type { ToolRequest } from "../tool-request.ts";
import { unchecked } from "../unchecked.ts";
import type { Attachment } from "./attachment.ts";
import { Client } from "./client.ts";
import { handleTasks } from "./handle-tasks.ts";

/**
 * Adds the registered tools and the tasks of 2025-11-25 and of SEP-1686 to a server of an earlier revision that is not
 * connected yet. To a client that asks for no task the tools are there and answer directly.
 */
export function attach(mcp: McpServer, attachment: Attachment): void {
  const { runtime, desk, rates, principal, streams, errorOf, requireTasks } = attachment;
  const { plain, companions, asking, held, access } = attachment;
  assertNothingReserved(mcp);
  const client = new Client(mcp, attachment);
  const { connection, party } = client;
  const { registry } = runtime;
  const exchanges = new TaskCalls(() => client.hasCore);
  const methods = taskMethods.filter((method) => client.lists || method !== "tasks/list");
  const sep = sepGate({
    registry,
    open: () => party !== undefined,
    capabilities: () => connection.capabilities,
    hasCore: () => client.hasCore,
    lists: () => client.speaks === "sep-1686",
    onTask: () => client.asked("sep-1686"),
  });
  const core = gate({
    registry,
    policies: plain.policies,
    hasTasks: () => client.hasCore,
    capabilities: () => connection.capabilities,
    isPlain: () => client.isPlain,
    onTask: () => client.asked("2025-11-25"),
    methods,
    requireTasks,
  });

  for (const tool of registry.all()) {
    registerTool(mcp, tool, async (context) => {
      await answer(context, (request) => {
        if (party !== undefined && sep.takes({ method: "tools/call", params: request.params })) {
          const prepares = tool.prepare === undefined ? {} : { prepareInTask: true as const };
          const requiredScopes = request.access?.neededFor(tool.name) ?? [];
          const args = request.params["arguments"];
          const work = { tool: tool.name, arguments: args, requiredScopes, ...prepares };
          return answerAsTask(work, request, party);
        }
        const { hasCore: hasTasks, isPlain } = client;
        return callTool(tool, request, { runtime, desk, connection, plain, asking, hasTasks, isPlain });
      });
      // No output schema is checked on an error; what is sent is the real answer.
      return { content: [], isError: true };
    });
  }
  const owner = { principal, session: streams.sessionId };
  registerCompanions(mcp, plain.policies, owner, async (kind, context) => {
    await answer(context, (request) => companions.answer(kind, plainCall(request, { connection, asking })));
    return { content: [], isError: true };
  });
  const both = party === undefined ? methods : [...new Set([...methods, "tasks/list", "tasks/delete"])];
  for (const method of both) {
    mcp.server.setRequestHandler(method, { params: unchecked }, async (_params, context) => {
      await answer(context, (request) => {
        const takes = sep.takes({ method, params: request.params });
        return handleTasks(method, request, { runtime, desk, rates, connection, party, takes });
      });
      return {};
    });
  }
  const reads = new Reads({
    party,
    held,
    serves: (method) => client.serves(method),
    onTask: () => client.asked("sep-1686"),
    errorOf,
  });
  client.onCancelled((request) => reads.cancelled(request));
  intercept(mcp, {
    exchanges,
    gate: {
      owns: (request) => core.owns(request) || sep.takes(request),
      refusal: (request) => (sep.takes(request) ? sep.refusal(request) : core.refusal(request)),
    },
    errorOf,
    tap: connection,
    holder: reads,
  });

  /** Each request brings a token of its own. */
  function accessOf({ http }: ServerContext): Access | undefined {
    return access === undefined ? undefined : { ...access, scopes: http?.authInfo?.scopes ?? [] };
  }

  async function answer(
    context: ServerContext,
    work: (request: ToolRequest) => Promise<Answer>,
  ): Promise<void> {
    const { id, signal } = context.mcpReq;
    const params = exchanges.params(id);
    if (params === undefined) return; // cancelled before it began
    try {
      exchanges.answer(id, await work({ id, params, signal, access: accessOf(context) }));
    } catch (error) {
      if (signal.aborted && error === signal.reason) return;
      if (isUnknownTask(error)) rates.missed(principal);
      exchanges.answer(id, { error: errorOf(error) });
    }
  }
}
