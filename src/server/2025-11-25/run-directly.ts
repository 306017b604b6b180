import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { missingForInput, type InputMethod } from "../../task/input.ts";
import { inputFailed } from "../../runtime/attempt/input-failed.ts";
import { HoldfastError } from "../../task/fault.ts";
import { errorResult, type Outcome } from "../../task/outcome.ts";
import type { Progress } from "../../task/record.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { askClient } from "../connection/ask-client.ts";
import { firstManner, judgeReply, paramsFor } from "../connection/manner.ts";
import { cannotAsk, lacking } from "../plain/capabilities.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { Callee } from "./callee.ts";

/** Answers a call without a task: progress and questions go out on the stream of the call. */
export async function runDirectly(
  tool: Tool,
  { id, params, signal }: ToolRequest,
  { runtime, connection }: Pick<Callee, "runtime" | "connection">,
): Promise<Outcome> {
  const { capabilities } = connection;
  const missing = lacking(tool, capabilities);
  if (missing.length > 0) return errorResult(cannotAsk(tool, missing));
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const { progressToken } = meta;
  let over = false;
  const progress = growing((report) => {
    if (over) return; // what a handler still reports belongs to no call any more
    if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
    connection.notify("notifications/progress", { progressToken, ...report }, id);
  });

  const ask = async (key: unknown, method: InputMethod, question: object): Promise<unknown> => {
    const asked = { ...question } as JsonObject;
    const undeclared = missingForInput(method, asked, capabilities);
    if (undeclared !== undefined) {
      const names = Object.keys(undeclared).join(", ");
      throw new HoldfastError("input_failed", `The client cannot be asked: it did not declare ${names}.`);
    }
    const { clock } = runtime;
    for (let manner = firstManner; ;) {
      const put = { method, params: asked, manner };
      const sent = { connection, method, params: paramsFor(put), mayBeTask: !manner.plainly };
      const verdict = judgeReply(put, await askClient({ ...sent, via: () => id, signal, clock }));
      if (verdict.kind === "answer") return verdict.value;
      if (verdict.kind === "error") throw inputFailed(String(key), verdict.error);
      manner = verdict.manner;
    }
  };

  try {
    return await runtime.runInline({
      tool,
      arguments: params["arguments"],
      prepareInTask: true,
      signal,
      ask,
      progress,
    });
  } finally {
    over = true;
  }
}

/** Progress has to grow with each notification. */
function growing(tell: (report: Progress) => void): (report: Progress) => void {
  let last: number | undefined;
  return (report) => {
    if (last !== undefined && report.progress <= last) return;
    last = report.progress;
    tell(report);
  };
}
