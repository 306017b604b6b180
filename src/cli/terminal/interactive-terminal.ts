import { systemClock } from "../../client/clock.ts";
import type { Io } from "../io.ts";
import { askUser } from "./ask-user.ts";
import { decide } from "./decide.ts";
import { LiveDisplay } from "./live-display.ts";
import { nobodyToAsk } from "./nobody-to-ask.ts";
import { Prompts } from "./prompts.ts";
import { watchSignals } from "./signal-watch.ts";
import type { Terminal } from "./terminal.ts";

/** A person who reads stderr on a terminal, and, if `asks`, types on stdin. */
export function interactiveTerminal(
  { stdin, stderr, env }: Io,
  { asks }: { readonly asks: boolean },
): Terminal {
  const watch = watchSignals();
  const display = new LiveDisplay(stderr, { clock: systemClock, unicode: hasUnicode(env), asks });
  const note = (line: string): void => display.note(line);
  return {
    display,
    askUser: asks
      ? askUser({
          prompts: new Prompts(stdin, stderr, () => watch.press()),
          asker: () => display.asker,
          suspend: () => display.suspend(),
          interrupted: watch.signal,
          note,
        })
      : nobodyToAsk,
    isInteractive: asks,
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      async decide(task) {
        display.leaving();
        const decision = await decide(task, watch, systemClock, note);
        if (decision === "cancel") display.cancelling();
        return decision;
      },
    },
    close: () => {
      display.end();
      watch[Symbol.dispose]();
    },
  };
}

/** The console of Linux itself has few characters; all else that people use has them. */
function hasUnicode(env: Io["env"]): boolean {
  return env["TERM"] !== "linux";
}
