import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { taskMethods } from "../../generation/2025-11-25/methods.ts";
import { generation } from "../../generation/2025-11-25/name.ts";
import { declaresTasks, executionOf, serverTasksCapability } from "../../generation/2025-11-25/negotiate.ts";
import { idempotencyKeyMeta } from "../../generation/idempotency-key.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { Answer, ErrorOf } from "../answer.ts";
import { Connection } from "../connection/connection.ts";
import { intercept } from "../intercept.ts";
import { registerCompanions } from "../plain/companion-tools.ts";
import type { Companions } from "../plain/companions.ts";
import { listedToPlain, withoutCompanions } from "../plain/list.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import type { Rates } from "../rates/rates.ts";
import { registerTool } from "../register-tool.ts";
import { assertNothingReserved } from "../reserved-methods.ts";
import type { Streams } from "../streams.ts";
import type { ToolRequest } from "../tool-request.ts";
import { unchecked } from "../unchecked.ts";
import { callTool } from "./call-tool.ts";
import { gate } from "./gate.ts";
import { handle } from "./handle.ts";
import { plainCall } from "./plain-call.ts";
import { TaskCalls } from "./task-calls.ts";
import type { TaskDesk } from "../desk/task-desk.ts";

export interface Attachment {
  readonly runtime: Runtime;
  readonly desk: TaskDesk;
  readonly rates: Rates;
  /** Who is on the other side of this server; null where callers are not told apart. */
  readonly principal: string | null;
  readonly streams: Streams;
  readonly errorOf: ErrorOf;
  /** Calls of clients that know nothing of tasks. */
  readonly plain: PlainCalls;
  readonly companions: Companions;
  /** Where the questions of such calls are. */
  readonly asking: TaskDesk;
  /** Refuses calls that do not ask for a task although they could (C-029). */
  readonly requireTasks: boolean;
}

/**
 * Adds the registered tools and the tasks of 2025-11-25 to a server of an earlier revision that is not connected yet.
 * Where the client speaks one that has no tasks, the tools are there and answer directly.
 */
export function attach(mcp: McpServer, attachment: Attachment): void {
  const { runtime, desk, rates, principal, streams, errorOf, requireTasks } = attachment;
  const { plain, companions, asking } = attachment;
  assertNothingReserved(mcp);
  const exchanges = new TaskCalls(() => hasTasks());
  const { registry } = runtime;
  const lists = principal !== null;
  const methods = taskMethods.filter((method) => lists || method !== "tasks/list");
  const connection = new Connection({
    principal,
    streams,
    declare: (version, own) => (version === generation ? declared(own, lists) : {}),
    list: (listed) => {
      const own = isPlain()
        ? listedToPlain(listed, registry, plain.policies)
        : withoutCompanions(listed, plain.policies);
      return own === undefined || !hasTasks() ? own && withoutExecution(own) : withExecution(own, registry);
    },
  });
  // A request that comes alone had its handshake with another server like this one.
  const hasTasks = (): boolean => !streams.initialized || connection.protocolVersion === generation;
  let askedForTask = false;
  const isPlain = (): boolean => !askedForTask && (!hasTasks() || !declaresTasks(connection.capabilities));

  for (const tool of registry.all()) {
    registerTool(mcp, tool, async (context) => {
      const callee = { runtime, desk, connection, plain, asking, hasTasks: hasTasks(), isPlain: isPlain() };
      await answer(context, (request) => callTool(tool, request, callee));
      // No output schema is checked on an error; what is sent is the real answer.
      return { content: [], isError: true };
    });
  }
  registerCompanions(
    mcp,
    plain.policies,
    { principal, session: streams.sessionId },
    async (kind, context) => {
      await answer(context, (request) => companions.answer(kind, plainCall(request, { connection, asking })));
      return { content: [], isError: true };
    },
  );
  for (const method of methods) {
    mcp.server.setRequestHandler(method, { params: unchecked }, async (_params, context) => {
      await answer(context, (request) => handle(method, request, { runtime, desk, rates, connection }));
      return {};
    });
  }
  intercept(mcp, {
    exchanges,
    gate: gate({
      registry,
      policies: plain.policies,
      hasTasks,
      isPlain,
      onTask: () => (askedForTask = true),
      methods,
      requireTasks,
    }),
    errorOf,
    tap: connection,
  });

  async function answer(
    context: ServerContext,
    work: (request: ToolRequest) => Promise<Answer>,
  ): Promise<void> {
    const { id, signal } = context.mcpReq;
    const params = exchanges.params(id);
    if (params === undefined) return; // cancelled before it began
    try {
      exchanges.answer(id, await work({ id, params, signal }));
    } catch (error) {
      if (signal.aborted && error === signal.reason) return;
      if (isUnknownTask(error)) rates.missed(principal);
      exchanges.answer(id, { error: errorOf(error) });
    }
  }
}

/** With the word that a call can be repeated under its key, where this revision has a place for it. */
function declared({ experimental }: JsonObject, lists: boolean): JsonObject {
  const others = isJsonObject(experimental) ? experimental : {};
  return {
    tasks: serverTasksCapability({ list: lists }),
    experimental: { ...others, [idempotencyKeyMeta]: {} },
  };
}

/** Listed with what each tool makes of tasks; the SDK says of all that they have none. */
function withExecution(listed: JsonObject, registry: Registry): JsonObject {
  const tool = registry.get(String(listed["name"]));
  return tool === undefined ? listed : { ...listed, execution: executionOf(tool.task) };
}

function withoutExecution({ execution: _, ...listed }: JsonObject): JsonObject {
  return listed;
}
