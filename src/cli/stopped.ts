import type { ExitCode } from "./exit-code.ts";

/** A wait was given up by its user, or by `--timeout`. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  readonly exitCode: ExitCode;
  /** The user has read on the display what there is to know. */
  readonly wasTold: boolean;
  readonly taskId: string | undefined;

  constructor(
    exitCode: ExitCode,
    message: string,
    { wasTold = false, taskId }: { readonly wasTold?: boolean; readonly taskId?: string } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.wasTold = wasTold;
    this.taskId = taskId;
  }
}
