import type { TaskClientErrorCode } from "../client/task-client-error.ts";

/** How a command ends, by outcome; docs/cli.md says the same. */
export const exitCodes = {
  /** Done: a result, or what else was asked for. */
  done: 0,
  /** A result that is an error (`isError`). */
  errorResult: 1,
  /** The command was not understood, or does not fit the server, the tool or the task. */
  usage: 2,
  /** A JSON-RPC error. */
  failed: 3,
  cancelled: 4,
  /** The task expired, or the server does not know it. */
  expired: 5,
  /** The server cannot be reached, refuses the caller, or speaks no MCP. */
  unreachable: 6,
  /** `--timeout` is over; the task goes on. */
  unfinished: 7,
  /** A question that comes before the task could not be answered. */
  unanswered: 8,
  /** A fault in this program, or a state folder that it cannot write. */
  fault: 70,
  /** Ctrl-C; the task goes on. */
  interrupted: 130,
  /** SIGTERM; the task goes on. */
  terminated: 143,
  /** Nobody reads the output any more. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The code of a command that was left, as a shell tells which signal it was. */
export function interruptedBy({ terminated }: { readonly terminated: AbortSignal }): ExitCode {
  return terminated.aborted ? exitCodes.terminated : exitCodes.interrupted;
}

const ofErrors: Readonly<Record<TaskClientErrorCode, ExitCode>> = {
  failed: exitCodes.failed,
  rpc: exitCodes.failed,
  missing_capability: exitCodes.failed,
  cancelled: exitCodes.cancelled,
  expired: exitCodes.expired,
  unknown_task: exitCodes.expired,
  connection: exitCodes.unreachable,
  unauthorized: exitCodes.unreachable,
  protocol: exitCodes.unreachable,
  unanswered: exitCodes.unanswered,
  reference: exitCodes.usage,
  handles: exitCodes.fault,
  timeout: exitCodes.unfinished,
  closed: exitCodes.fault,
};

export function exitCodeOf(code: TaskClientErrorCode): ExitCode {
  return ofErrors[code];
}
