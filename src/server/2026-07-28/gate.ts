import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { taskableMethods, taskMethods } from "../../generation/2026-07-28/methods.ts";
import { declaresTasks, readCapabilities } from "../../generation/2026-07-28/negotiate.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { hasIdempotencyKey, isRepeat, notRepeatableData } from "../../generation/idempotency-key.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Gate } from "../gate.ts";
import type { PlainPolicies } from "../plain/policy.ts";
import { missingForCall } from "./admission.ts";

/** Lets in what belongs to the registry's tools and to the tasks extension. */
export function gate(registry: Registry, policies: PlainPolicies): Gate {
  const companionOf = ({ method, params }: JSONRPCRequest): boolean =>
    method === "tools/call" && policies.companion(params?.["name"]) !== undefined;
  const toolOf = ({ method, params }: JSONRPCRequest): Tool | undefined => {
    const name: unknown = params?.["name"];
    const taskable = taskableMethods.some((candidate) => candidate === method);
    return taskable && typeof name === "string" ? registry.get(name) : undefined;
  };
  return {
    owns: (request) =>
      taskMethods.some((method) => method === request.method) ||
      toolOf(request) !== undefined ||
      companionOf(request),
    refusal(request) {
      const tool = toolOf(request);
      const capabilities = readCapabilities(request.params);
      if (capabilities !== undefined && declaresTasks(capabilities) && companionOf(request)) {
        const name = String(request.params?.["name"]);
        return new HoldfastError("invalid_params", `Tool ${name} not found`);
      }
      if (repeatsWhatMayNot(request, tool)) return notRepeatable(request);
      // A request without capabilities is malformed, and the SDK says so.
      return tool === undefined || capabilities === undefined
        ? undefined
        : missingForCall(tool, capabilities, policies);
    },
  };
}

/**
 * A client that lost the answer repeats its call in the trust that the task is found again by its key. Where the call
 * makes no task, nothing would be found, and the tool would run twice.
 */
function repeatsWhatMayNot({ method, params }: JSONRPCRequest, tool: Tool | undefined): boolean {
  if (method !== "tools/call" || !isRepeat(params)) return false;
  if (tool === undefined) return true;
  const isPlain = !declaresTasks(readCapabilities(params) ?? {});
  return tool.task === "forbidden" || (isPlain && !(tool.task === "optional" && hasIdempotencyKey(params)));
}

function notRepeatable({ params }: JSONRPCRequest): HoldfastError {
  return new HoldfastError(
    "invalid_params",
    `Tool ${String(params?.["name"])} makes no task, so a repeated call of it cannot be told from a new one.`,
    { data: notRepeatableData },
  );
}
