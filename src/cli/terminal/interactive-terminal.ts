import { systemClock } from "../../client/clock.ts";
import type { Io } from "../io.ts";
import { askUser } from "./ask-user.ts";
import { decideAfterInterrupt } from "./decide-after-interrupt.ts";
import { KeyWatch } from "./key-watch.ts";
import { LiveDisplay } from "./live-display.ts";
import { showsUnicode } from "./moves-cursor.ts";
import { leaveAllOpen } from "./unanswered.ts";
import { Prompts } from "./prompts.ts";
import { endBySignal, watchSignals } from "./signal-watch.ts";
import type { Terminal } from "./terminal.ts";

interface InteractiveOptions {
  /** Whether the user can type on stdin. */
  readonly asks: boolean;
  /** Whether the server is a process of this command. */
  readonly ownsServer: boolean;
}

/** A terminal with a live line on stderr, and with prompts if the user can type. */
export function interactiveTerminal({ stdin, stderr, env }: Io, options: InteractiveOptions): Terminal {
  const { asks, ownsServer } = options;
  const watch = watchSignals(process, (signal) => {
    close();
    endBySignal(signal);
  });
  const display = new LiveDisplay(stderr, { clock: systemClock, unicode: showsUnicode(env), asks });
  const sharesSignals = ownsServer && process.platform === "win32";
  const keys = asks && sharesSignals ? new KeyWatch(stdin, () => watch.press()) : undefined;
  const close = (): void => {
    display.end();
    keys?.[Symbol.dispose]();
    watch[Symbol.dispose]();
  };
  const note = (line: string): void => display.note(line);
  return {
    display,
    askUser: asks
      ? askUser({
          prompts: new Prompts(stdin, stderr, () => watch.press()),
          askerLabel: () => display.askerLabel,
          ownsServer,
          suspend: () => {
            const suspended = display.suspend();
            const released = keys?.release();
            return {
              [Symbol.dispose]: () => {
                released?.[Symbol.dispose]();
                suspended[Symbol.dispose]();
              },
            };
          },
          interrupted: watch.signal,
          note,
        })
      : leaveAllOpen,
    isInteractive: asks,
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      terminated: watch.terminated,
      async decide(task) {
        display.stopLine();
        const decision = await decideAfterInterrupt(task, watch, systemClock, note);
        if (decision === "cancel") display.cancelling();
        return decision;
      },
      giveUp(line) {
        display.stopLine();
        note(line);
      },
    },
    close,
  };
}
