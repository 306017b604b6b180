import { constants } from "node:os";
import { interruptedBy, Stopped } from "../errors.ts";

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

/** Resolves once the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
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

/** Ctrl-C, which a terminal in raw mode sends as a key instead of a signal. */
const ctrlC = "\u0003";

/**
 * Reads keys, Ctrl-C as one of them. On Windows the terminal would send the signal also to the server process of this command,
 * which is still needed to cancel the task; elsewhere the server has its own process group.
 */
export class KeyWatch implements Disposable {
  readonly #input: NodeJS.ReadStream;
  readonly #onCtrlC: () => void;
  readonly #onKey: (key: string) => void;
  #holders = 0;
  #watches = false;

  /** `onKey` is called for all other keys. */
  constructor(input: NodeJS.ReadStream, onCtrlC: () => void, onKey: (key: string) => void = () => undefined) {
    this.#input = input;
    this.#onCtrlC = onCtrlC;
    this.#onKey = onKey;
    this.#take();
  }

  /** Stops reading keys until the result is disposed. */
  release(): Disposable {
    this.#holders++;
    this.#giveBack();
    return {
      [Symbol.dispose]: () => {
        this.#holders--;
        if (this.#holders === 0) this.#take();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#holders = Number.POSITIVE_INFINITY;
    this.#giveBack();
  }

  #take(): void {
    if (this.#watches) return;
    this.#watches = true;
    this.#input.setRawMode(true);
    this.#input.on("data", this.#onKeys);
    this.#input.resume();
  }

  #giveBack(): void {
    if (!this.#watches) return;
    this.#watches = false;
    this.#input.off("data", this.#onKeys);
    this.#input.pause();
    this.#input.setRawMode(false);
  }

  readonly #onKeys = (bytes: Buffer | string): void => {
    for (const key of bytes.toString()) {
      if (key === ctrlC) this.#onCtrlC();
      else this.#onKey(key);
    }
  };
}
