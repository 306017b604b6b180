import type { TaskClientErrorCode } from "../client/task-client-error.ts";

/** The exit codes, documented in docs/reference/cli.md. */
export const exitCodes = {
  /** The command succeeded. */
  done: 0,
  /** A tool result with `isError`. */
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
  /** `--timeout` has passed; the task continues. */
  unfinished: 7,
  /** A question before the task existed could not be answered. */
  unanswered: 8,
  /** A bug in this program. */
  fault: 70,
  /** A file cannot be read or written, such as the state on a full disk. */
  system: 74,
  /** Ctrl-C; the task continues. */
  interrupted: 130,
  /** SIGTERM; the task continues. */
  terminated: 143,
  /** The reader closed the output. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The code of an interrupted command, by its signal. */
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
  handles: exitCodes.system,
  timeout: exitCodes.unfinished,
  aborted: exitCodes.fault,
  closed: exitCodes.fault,
};

export function exitCodeOf(code: TaskClientErrorCode): ExitCode {
  return ofErrors[code];
}

/**
 * The command is invalid, or does not fit the server, the tool or the task. The message says what to do. Exit code
 * 2.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The user or `--timeout` ended a wait. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  readonly exitCode: ExitCode;
  /** Whether the display has shown the message already. */
  readonly wasShown: boolean;
  readonly taskId: string | undefined;

  constructor(
    exitCode: ExitCode,
    message: string,
    { wasShown = false, taskId }: { readonly wasShown?: boolean; readonly taskId?: string } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.wasShown = wasShown;
    this.taskId = taskId;
  }
}
