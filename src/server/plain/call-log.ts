import { isAtLeast, logMessage } from "../../generation/message.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord } from "../../task/record.ts";
import { logLines, type LogLine } from "../log/log-lines.ts";
import { newestShown } from "../log/shown-progress.ts";
import type { PlainCall } from "./plain-call.ts";

/**
 * Sends the lines of a task's log to a call that waits for it, from when it began to wait, and keeps the newest one to show with progress.
 */
export class CallLog {
  readonly #runtime: Runtime;
  readonly #call: PlainCall;
  /** The last line that was sent, or not wanted. */
  #sent: number;
  /** The last line that was looked at for progress. */
  #seen = 0;
  #newest: LogLine | undefined;

  constructor(runtime: Runtime, task: TaskRecord, call: PlainCall) {
    this.#runtime = runtime;
    this.#call = call;
    this.#sent = task.logged;
  }

  get newest(): LogLine | undefined {
    return this.#newest;
  }

  /** Resolves when the lines of this state are sent; reads none that its client has no use for. */
  async upTo(task: TaskRecord): Promise<void> {
    const least = this.#call.logLevel();
    const { hasProgressToken } = this.#call;
    if (least === undefined) this.#sent = task.logged;
    const after = hasProgressToken ? Math.min(this.#seen, this.#sent) : this.#sent;
    if (after >= task.logged) return;
    const lines = await logLines(this.#runtime, task, task, after);
    for (const line of lines) {
      if (least === undefined || line.seq <= this.#sent || !isAtLeast(least, line)) continue;
      this.#call.log(logMessage(task.tool, line).params);
    }
    this.#sent = task.logged;
    this.#seen = task.logged;
    this.#newest = newestShown(lines) ?? this.#newest;
  }
}
