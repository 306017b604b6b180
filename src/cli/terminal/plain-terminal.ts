import { systemClock } from "../../client/clock.ts";
import type { Io } from "../io.ts";
import { decide } from "./decide.ts";
import { nobodyToAsk } from "./nobody-to-ask.ts";
import { PlainDisplay } from "./plain-display.ts";
import { watchSignals } from "./signal-watch.ts";
import type { Terminal } from "./terminal.ts";

/** Nobody to ask, and plain lines on stderr. `quiet`: not even those. */
export function plainTerminal({ stderr }: Io, { quiet }: { readonly quiet: boolean }): Terminal {
  const display = new PlainDisplay((text) => void (quiet || stderr.write(text)));
  const watch = watchSignals();
  return {
    display,
    askUser: nobodyToAsk,
    isInteractive: false,
    // What nobody can answer now can be answered later, by another command.
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      terminated: watch.terminated,
      decide: async (task) => decide(task, watch, systemClock, (line) => display.note(line)),
    },
    close: () => watch[Symbol.dispose](),
  };
}
