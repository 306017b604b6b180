/** Where Ctrl-C and SIGTERM arrive while a command waits. Each of the signals aborts at most once. */
export interface SignalWatch extends Disposable {
  /** Either came. */
  readonly signal: AbortSignal;
  /** A second Ctrl-C came. */
  readonly again: AbortSignal;
  /** SIGTERM came: its sender waits for the end of the process, and nobody reads. */
  readonly terminated: AbortSignal;
  /** A Ctrl-C that was read as a key: a prompt takes all keys. */
  press(): void;
}

/** What is used of `process`. */
export interface SignalSource {
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  off(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/**
 * Takes the signals from their default, which is to end the process, until it is disposed of. Whoever presses Ctrl-C a
 * third time, or sends SIGTERM twice, wants the process gone: then the default is back and `kill` sends the signal on.
 */
export function watchSignals(
  source: SignalSource = process,
  kill: (signal: "SIGINT" | "SIGTERM") => void = (signal) => process.kill(process.pid, signal),
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
