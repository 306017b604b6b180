import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { readTaskParams } from "../../generation/2025-11-25/create.ts";
import { taskMethods } from "../../generation/2025-11-25/methods.ts";
import { hasIdempotencyKey, isRepeat, notRepeatableData } from "../../generation/idempotency-key.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { refusedAsTask } from "../plain/capabilities.ts";
import type { PlainPolicies } from "../plain/policy.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Gate } from "../gate.ts";

export interface GateSetup {
  readonly registry: Registry;
  /** Whether this connection's version has tasks and so was told that the server has. */
  readonly hasTasks: () => boolean;
  readonly policies: PlainPolicies;
  /** What this connection's client declared. */
  readonly capabilities: () => JsonObject;
  /** Whether this connection's client knows nothing of tasks. */
  readonly isPlain: () => boolean;
  /** Called when it turns out that it does. */
  readonly onTask: () => void;
  /** The `tasks/*` methods that are declared. */
  readonly methods: readonly string[];
  /** Refuses calls that do not ask for a task although they could (C-029). */
  readonly requireTasks: boolean;
}

/** Lets in what belongs to the registry's tools and to the tasks of 2025-11-25. */
export function gate(setup: GateSetup): Gate {
  const { registry, hasTasks, policies, capabilities, isPlain, onTask, methods, requireTasks } = setup;
  const toolOf = (params: JSONRPCRequest["params"]): Tool | undefined => {
    const name: unknown = params?.["name"];
    return typeof name === "string" ? registry.get(name) : undefined;
  };
  const isOurs = (params: JSONRPCRequest["params"]): boolean =>
    toolOf(params) !== undefined || policies.companion(params?.["name"]) !== undefined;
  const refuseCall = ({ params }: JSONRPCRequest): HoldfastError | undefined => {
    const tool = toolOf(params);
    const name = typeof params?.["name"] === "string" ? params["name"] : "without a name";
    const mode = tool?.task ?? "forbidden";
    const asTask = hasTasks() && params?.["task"] !== undefined;
    if (asTask) onTask();
    if (policies.companion(params?.["name"]) !== undefined && !isPlain()) {
      return new HoldfastError("invalid_params", `Tool ${name} not found`);
    }
    if (asTask && mode === "forbidden") {
      return new HoldfastError("method_not_found", `Tool ${name} does not run as a task.`);
    }
    if (!asTask && mode === "required") {
      return new HoldfastError("method_not_found", `Tool ${name} runs only as a task.`);
    }
    if (!asTask && mode === "optional" && requireTasks && hasTasks()) {
      return new HoldfastError("invalid_request", "tools/call needs params.task here.");
    }
    const found = mode === "optional" && isPlain() && hasIdempotencyKey(params);
    if (!asTask && !found && isRepeat(params ?? {})) {
      const message = `Tool ${name} makes no task, so a repeated call of it cannot be told from a new one.`;
      return new HoldfastError("invalid_params", message, { data: notRepeatableData });
    }
    if (!asTask || tool === undefined) return undefined;
    return refusedAsTask(tool, capabilities()) ?? faultOf(() => readTaskParams(params));
  };

  return {
    owns: ({ method, params }) => methods.includes(method) || (method === "tools/call" && isOurs(params)),
    refusal(request) {
      if (request.method === "tools/call") return refuseCall(request);
      const known = taskMethods.some((method) => method === request.method);
      return known && !(hasTasks() && methods.includes(request.method)) ? notFound(request) : undefined;
    },
  };
}

/** Methods of tasks are there where they are declared (C-010, C-011). */
function notFound({ method }: JSONRPCRequest): HoldfastError {
  return new HoldfastError("method_not_found", `Method not found: ${method}`);
}

function faultOf(read: () => unknown): HoldfastError | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}
