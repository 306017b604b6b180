import type { Run } from "../journal/run.ts";
import type { Timers } from "../timers.ts";
import { waitFor } from "../wait-for.ts";

/** Resolves at a time (epoch ms), unless the frame of the handler is dropped before; rejects when its signal aborts. */
export async function waitUntil(run: Run, timers: Timers, until: number): Promise<void> {
  let callOff = (): void => undefined;
  try {
    await waitFor((done) => (callOff = run.life.holdTimer(timers.at(until, done))), run.signal);
  } finally {
    callOff();
  }
}
