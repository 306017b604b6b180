import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { asksForTask, readTaskParams } from "../../generation/sep-1686/create.ts";
import { taskMethods, type TasksMethod } from "../../generation/sep-1686/methods.ts";
import { relatedTaskOf } from "../../generation/sep-1686/related-task.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Registry } from "../../runtime/tool/registry.ts";
import { HoldfastError } from "../../task/fault.ts";
import { refusedAsTask } from "../plain/capabilities.ts";

export interface SepGateSetup {
  readonly registry: Registry;
  /** Whether the client can have such tasks at all. */
  readonly open: () => boolean;
  /** What the client declared. */
  readonly capabilities: () => JsonObject;
  /** Whether the connection's version has tasks of its own, whose methods have the same names. */
  readonly hasCore: () => boolean;
  /** Whether the last task that was asked for here was one of these. */
  readonly lists: () => boolean;
  /** Called when a tool is called as such a task. */
  readonly onTask: () => void;
}

/** Tells the requests of SEP-1686 from those of 2025-11-25, which share a connection. */
export interface SepGate {
  takes(request: Pick<JSONRPCRequest, "method" | "params">): boolean;
  /** Of a request that it takes. */
  refusal(request: Pick<JSONRPCRequest, "method" | "params">): HoldfastError | undefined;
}

export function isTasksMethod(method: string): method is TasksMethod {
  return taskMethods.some((each) => each === method);
}

export function sepGate({ registry, open, capabilities, hasCore, lists, onTask }: SepGateSetup): SepGate {
  return {
    takes({ method, params }) {
      if (!open()) return false;
      switch (method) {
        case "tools/call": {
          if (!asksForTask(params) || (hasCore() && params?.["task"] !== undefined)) return false;
          const tool = registry.get(String(params?.["name"]));
          return tool !== undefined && tool.task !== "forbidden"; // others run as ever (S-009)
        }
        case "tasks/get":
        case "tasks/result":
          return !hasCore() || relatedTaskOf(params) !== undefined;
        case "tasks/list":
          return !hasCore() || lists();
        default:
          return method === "tasks/delete";
      }
    },
    refusal({ method, params }) {
      if (method !== "tools/call") return undefined;
      onTask();
      const tool = registry.get(String(params?.["name"]));
      try {
        readTaskParams(params);
        return tool && refusedAsTask(tool, capabilities());
      } catch (error) {
        if (error instanceof HoldfastError) return error;
        throw error;
      }
    },
  };
}
