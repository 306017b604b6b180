import { isAttemptTimeout, type WorkLimitSetup } from "../journal/slot-holder.ts";
import type { Run } from "../journal/run.ts";
import { threwEnd, type HandlerEnd } from "../tool/tool-outcome.ts";
import type { Tool } from "../tool/tool.ts";
import type { Timers } from "../timers.ts";
import { whenAborted } from "../wait-for.ts";

/** How long runs of the tool may work without a break. */
export function workLimitOf({ timeoutMs }: Tool, timers: Timers): WorkLimitSetup | undefined {
  return timeoutMs === undefined ? undefined : { ms: timeoutMs, timers };
}

/** How an attempt ends: like its handler, or when it has worked for too long, even if the handler continues. */
export function withinTime(running: Promise<HandlerEnd>, run: Run, { timeoutMs }: Tool): Promise<HandlerEnd> {
  if (timeoutMs === undefined) return running;
  return new Promise((resolve) => {
    const { signal } = run;
    const stopListening = whenAborted(signal, () => {
      if (isAttemptTimeout(signal.reason)) resolve(threwEnd(signal.reason, run.setup.maxBodyBytes));
    });
    void running.then((end) => {
      stopListening();
      resolve(end);
    });
  });
}
