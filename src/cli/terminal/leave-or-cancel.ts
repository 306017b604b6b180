import type { ClientClock } from "../../client/clock.ts";
import type { Display, Interrupts } from "./terminal.ts";

/** What was waited for when the interrupt came. */
export type Interrupted =
  | {
      readonly kind: "task";
      /** The command that takes the task up again: "holdfast watch reports K7QM". */
      readonly comeBack: string;
      /** The server is a process of this command, and ends with it. */
      readonly serverEnds: boolean;
      /** Asks the server to cancel the task; resolves when it has acknowledged. */
      readonly cancel: (signal: AbortSignal) => Promise<void>;
    }
  /** A call that the server has not made a task of, as far as anybody here knows. */
  | { readonly kind: "call" };

interface LeaveOptions {
  readonly display: Display;
  readonly interrupts: Interrupts;
  readonly clock: ClientClock;
}

/** Exit codes: 128 and the number of the signal, as shells count, and that of a cancelled task. */
const exit = { interrupted: 130, terminated: 143, cancelled: 4 } as const;

/** How long a second Ctrl-C is waited for. */
const pauseMs = 3_000;
/** How long a server is waited for that is to acknowledge a cancel. */
const cancelMs = 10_000;

/**
 * After the first interrupt: says what becomes of the work and how to come back to it, and cancels it if Ctrl-C is
 * pressed again. Ends the display and resolves with the exit code.
 */
export async function leaveOrCancel(work: Interrupted, options: LeaveOptions): Promise<number> {
  const { display, interrupts } = options;
  const left = interrupts.terminated.aborted ? exit.terminated : exit.interrupted;
  if (work.kind === "call") {
    display.end({
      kind: "left",
      text: "gave the call up. It was no task yet, so there is nothing to come back to; whether its work stops is up to the server",
    });
    return left;
  }
  display.say(`The task goes on. Come back to it with: ${work.comeBack}`);
  if (work.serverEnds) {
    display.say(
      "Its server ends with this command, and starts again with the next. It goes on with the task then, if it keeps tasks on disk; a server that keeps them in memory loses it.",
    );
  }
  if (!(await pressedAgain(options))) {
    display.end({ kind: "left", text: "left" });
    return interrupts.terminated.aborted ? exit.terminated : exit.interrupted;
  }
  return cancel(work.cancel, options);
}

async function pressedAgain({ display, interrupts, clock }: LeaveOptions): Promise<boolean> {
  const { again, terminated } = interrupts;
  if (terminated.aborted) return false;
  display.doing(`Ctrl-C again within ${pauseMs / 1000} seconds cancels the task`);
  const pause = clock.deadline(pauseMs);
  try {
    await aborted(AbortSignal.any([again, terminated, pause.signal]));
  } finally {
    pause.clear();
  }
  return again.aborted;
}

async function cancel(
  send: (signal: AbortSignal) => Promise<void>,
  { display, interrupts, clock }: LeaveOptions,
): Promise<number> {
  display.doing("cancelling the task");
  const patience = clock.deadline(cancelMs);
  try {
    await send(AbortSignal.any([patience.signal, interrupts.terminated]));
    display.end({ kind: "cancelled", text: "cancelled" });
    return exit.cancelled;
  } catch (error) {
    const cause = patience.signal.aborted
      ? `no acknowledgement within ${cancelMs / 1000} seconds`
      : String(error instanceof Error ? error.message : error);
    display.end({ kind: "error", text: `not cancelled for all that is known, the task may go on: ${cause}` });
    return interrupts.terminated.aborted ? exit.terminated : exit.interrupted;
  } finally {
    patience.clear();
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
