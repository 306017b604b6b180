import { errorOutcome, type Outcome } from "../../task/outcome.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { RuntimeOptions } from "../options.ts";
import type { Tool } from "../tool/tool.ts";

/** What to do with an unfinished task that this process did not begin, or begins again. */
export type RecoveryPlan =
  | { readonly do: "run"; readonly tool: Tool; readonly afterMs: number }
  | { readonly do: "cancel" }
  | { readonly do: "await_tool" }
  | { readonly do: "fail"; readonly outcome: Outcome; readonly statusMessage: string };

type Limits = Pick<RuntimeOptions, "maxCrashes" | "crashBackoffMs" | "maxCrashBackoffMs">;

/** Applies a tool's `onCrash` and the limit on crashes (guarantee 5). */
export function planRecovery(task: TaskRecord, tool: Tool | undefined, limits: Limits): RecoveryPlan {
  if (task.cancelRequestedAt !== null) return { do: "cancel" };
  if (tool === undefined) return { do: "await_tool" };
  if (task.crashes >= limits.maxCrashes) {
    return failed(
      `Gave up after ${task.crashes} crashes of the server in a row while this task ran, without progress between them.`,
    );
  }
  if (!mayRunAgain(task, tool)) {
    return failed(
      `The server stopped while "${task.tool}" ran. The tool is not known to be safe to run again, so how far it came is not known.`,
    );
  }
  return { do: "run", tool, afterMs: backoff(task.crashes, limits) };
}

/** What becomes of a task whose tool did not come back within the grace. */
export function failUnregistered(task: TaskRecord): Extract<RecoveryPlan, { do: "fail" }> {
  return failed(`This server no longer has a tool "${task.tool}".`);
}

function mayRunAgain(task: TaskRecord, tool: Tool): boolean {
  if (task.startedAt === null || tool.onCrash === "resume") return true;
  if (tool.onCrash === "fail") return false;
  const repeatable = tool.annotations?.idempotentHint === true || tool.annotations?.readOnlyHint === true;
  return repeatable || task.journalled;
}

/** The first crash costs no pause, so that work goes on as soon as the server is back. */
function backoff(crashes: number, { crashBackoffMs, maxCrashBackoffMs }: Limits): number {
  return crashes < 2 ? 0 : Math.min(crashBackoffMs * 2 ** (crashes - 2), maxCrashBackoffMs);
}

function failed(message: string): Extract<RecoveryPlan, { do: "fail" }> {
  return { do: "fail", outcome: errorOutcome({ code: -32603, message }), statusMessage: message };
}
