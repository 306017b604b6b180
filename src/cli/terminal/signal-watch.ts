import { constants } from "node:os";
import { Stopped } from "../errors.ts";
import { interruptedBy } from "../exit-code.ts";

/** Ctrl-C and SIGTERM while a command waits, as abort signals. */
export interface SignalWatch extends Disposable {
  /** Aborts on the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Aborts on the second Ctrl-C. */
  readonly again: AbortSignal;
  /** Aborts on SIGTERM: its sender waits for the process to end. */
  readonly terminated: AbortSignal;
  /** Reports a Ctrl-C that was read as a key, as by a prompt. */
  press(): void;
}

/** The used part of `process`. */
export interface SignalSource {
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  off(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/**
 * Handles the signals instead of their default, which ends the process, until it is disposed. A third Ctrl-C or a
 * second SIGTERM restores the default and calls `kill` with the signal.
 */
export function watchSignals(
  source: SignalSource = process,
  kill: (signal: "SIGINT" | "SIGTERM") => void = endBySignal,
): SignalWatch {
  const any = new AbortController();
  const again = new AbortController();
  const terminated = new AbortController();
  let presses = 0;

  const press = (): void => {
    presses++;
    if (presses === 1) any.abort(new Error("Interrupted by Ctrl-C"));
    else if (presses === 2) again.abort(new Error("Interrupted twice by Ctrl-C"));
    else giveUp("SIGINT");
  };
  const terminate = (): void => {
    if (terminated.signal.aborted) return giveUp("SIGTERM");
    terminated.abort(new Error("Ended by SIGTERM"));
    any.abort(terminated.signal.reason);
  };
  const stop = (): void => {
    source.off("SIGINT", press);
    source.off("SIGTERM", terminate);
  };
  const giveUp = (signal: "SIGINT" | "SIGTERM"): void => {
    stop();
    kill(signal);
  };

  source.on("SIGINT", press);
  source.on("SIGTERM", terminate);
  return {
    signal: any.signal,
    again: again.signal,
    terminated: terminated.signal,
    press,
    [Symbol.dispose]: stop,
  };
}

/** Ends this process as the signal's default would. On Windows the exit code would be 1, which means a tool's error. */
export function endBySignal(signal: "SIGINT" | "SIGTERM", platform = process.platform): void {
  if (platform === "win32") process.exit(128 + constants.signals[signal]);
  process.kill(process.pid, signal);
}

/** Work that an interrupt ends at once, with what that means. */
export async function unlessStopped<Result>(
  meaning: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  using interrupts = watchSignals();
  try {
    return await work(interrupts.signal);
  } catch (error) {
    if (interrupts.signal.aborted) throw new Stopped(interruptedBy(interrupts), `Interrupted: ${meaning}`);
    throw error;
  }
}
