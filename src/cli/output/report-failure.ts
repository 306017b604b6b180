import { isJsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { describeCause, TaskClientError, type TaskClientErrorCode } from "../../client/task-client-error.ts";
import { HoldfastError } from "../../task/fault.ts";
import { cutText } from "../../task/stored-text.ts";
import { type ExitCode, exitCodeOf, exitCodes, Stopped, UsageError } from "../errors.ts";
import type { ErrorJson } from "./json-shapes.ts";
import type { Output } from "./output.ts";

/** The error codes for a call whose user has to visit URLs first. 2026-07-28 has none for that; Holdfast servers send -32603. */
const codes: readonly number[] = [-32042, -32603];

/** The URLs that the user has to visit before calling again, one per line; empty for other errors. */
export function urlsToVisit({ code, data }: JsonRpcError): string {
  const asked: unknown = isJsonObject(data) ? data["elicitations"] : undefined;
  if (!codes.includes(code) || !Array.isArray(asked)) return "";
  const lines = asked.map((elicitation: unknown) => {
    const { message, url } = isJsonObject(elicitation) ? elicitation : {};
    const prefix = typeof message === "string" ? `${message} ` : "";
    return typeof url === "string" ? `\n  ${prefix}${shownAddress(url)}` : "";
  });
  return `\nVisit, and then call again:${lines.join("")}`;
}

/** How much of an error's data to show, in code points. */
const mostData = 2_000;

/** On a line of its own, what a server says beside its message; without what is for clients, and the URLs that `urlsToVisit` shows. */
export function dataOf(error: JsonRpcError): string {
  const { data } = error;
  if (data === undefined || data === null || urlsToVisit(error) !== "") return "";
  if (typeof data === "string") return `\n${cutText(data, mostData)}`;
  const isForClients = (name: string): boolean => name === "retryAfterMs" || name.startsWith("holdfast/");
  const shown = isJsonObject(data)
    ? Object.fromEntries(Object.entries(data).filter(([name]) => !isForClients(name)))
    : data;
  const text = JSON.stringify(shown);
  return text === "{}" ? "" : `\n${cutText(text, mostData)}`;
}

/** Prints why a command failed: on stderr, or as JSON on stdout. Returns the exit code. */
export async function reportFailure(error: unknown, output: Output): Promise<ExitCode> {
  const { exitCode, ...details } = describe(error);
  if (output.json) {
    const document: ErrorJson = { error: details, exitCode };
    await output.printJson(document, { line: true }).catch(() => undefined);
  } else if (!(error instanceof Stopped && error.wasShown)) {
    const code = codeOf(error);
    const more = code === undefined ? "" : `\nMore about this error:\n  holdfast docs ${code}`;
    const { kind, rpc } = details;
    // What is missing, the message says already.
    const data = rpc === undefined || kind === "missing_capability" ? "" : dataOf(rpc);
    output.note(`holdfast: ${details.message}${data}${more}`);
  }
  return exitCode;
}

/** What `holdfast docs` explains of an error. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const known = [error, error.cause].find((each) => each instanceof HoldfastError);
  if (known instanceof HoldfastError) return known.code;
  return error instanceof TaskClientError && !saysAll.has(error.code) ? error.code : undefined;
}

/** What the user or the tool did, or did not do, about which there is no more to read. */
const saysAll: ReadonlySet<TaskClientErrorCode> = new Set([
  "failed",
  "cancelled",
  "rpc",
  "timeout",
  "unanswered",
  "aborted",
  "closed",
]);

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
    // For the state folder the cause matters, such as a full disk.
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

/** The message of a system error is enough; for a bug the stack helps. */
function textOf(error: Error): string {
  return "syscall" in error ? error.message : (error.stack ?? error.message);
}
