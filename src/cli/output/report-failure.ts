import { describeCause } from "../../client/transport/describe-cause.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { exitCodeOf, exitCodes, type ExitCode } from "../exit-code.ts";
import { Stopped } from "../stopped.ts";
import { UsageError } from "../usage-error.ts";
import type { ErrorJson } from "./json-shapes.ts";
import type { Output } from "./output.ts";
import { urlsToVisit } from "./url-elicitations.ts";

/** Says on stderr, or as JSON on stdout, why a command ends without what it was asked for. */
export async function reportFailure(error: unknown, output: Output): Promise<ExitCode> {
  const { exitCode, ...said } = describe(error);
  if (output.json) {
    const document: ErrorJson = { error: said, exitCode };
    await output.printJson(document, { line: true }).catch(() => undefined);
  } else if (!(error instanceof Stopped && error.wasTold)) output.tell(`holdfast: ${said.message}`);
  return exitCode;
}

function describe(error: unknown): ErrorJson["error"] & { readonly exitCode: ExitCode } {
  if (error instanceof UsageError) {
    return { kind: "usage", message: error.message, exitCode: exitCodes.usage };
  }
  if (error instanceof Stopped) {
    const { message, taskId, exitCode } = error;
    return { kind: "stopped", message, ...(taskId !== undefined && { id: taskId }), exitCode };
  }
  if (error instanceof TaskClientError) {
    const { code, taskId, error: rpc } = error;
    // Of the state folder its user has to know what is wrong with it.
    const text = code === "handles" ? describeCause(error) : error.message;
    const message = rpc === undefined ? text : `${text}${urlsToVisit(rpc)}`;
    return {
      kind: code,
      message,
      ...(taskId !== undefined && { id: taskId }),
      ...(rpc !== undefined && { rpc }),
      exitCode: exitCodeOf(code),
    };
  }
  const message = error instanceof Error ? textOf(error) : String(error);
  return { kind: "fault", message, exitCode: exitCodes.fault };
}

/** What the system refuses, such as a folder or a full disk, says all by its message; of our own faults the place helps. */
function textOf(error: Error): string {
  return "syscall" in error ? error.message : (error.stack ?? error.message);
}
