import type { ExitCode } from "./exit-code.ts";

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
