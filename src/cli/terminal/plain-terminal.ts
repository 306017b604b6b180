import type { Progress } from "@modelcontextprotocol/client";
import { systemClock } from "../../client/clock.ts";
import type { Io } from "../io.ts";
import { decideAfterInterrupt } from "./decide-after-interrupt.ts";
import { leaveAllOpen } from "./left-open.ts";
import { watchSignals } from "./signal-watch.ts";
import type { Terminal, Display, ShownTask } from "./terminal.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import { sanitizeLine } from "./sanitize.ts";
import { answerCommand } from "../output/suggested-commands.ts";

/** Plain lines on stderr, without prompts. `quiet`: no lines either. */
export function plainTerminal({ stderr }: Io, { quiet }: { readonly quiet: boolean }): Terminal {
  const display = new PlainDisplay((text) => void (quiet || stderr.write(text)));
  const watch = watchSignals();
  return {
    display,
    askUser: leaveAllOpen,
    isInteractive: false,
    // Another command can answer the questions later.
    capabilities: { elicitation: { form: {}, url: {} } },
    interrupts: {
      signal: watch.signal,
      terminated: watch.terminated,
      decide: async (task) => decideAfterInterrupt(task, watch, systemClock, (line) => display.note(line)),
    },
    close: () => watch[Symbol.dispose](),
  };
}

/** One plain line per change, for pipes, scripts and logs. */
export class PlainDisplay implements Display {
  readonly #write: (text: string) => void;
  #task: ShownTask | undefined;
  #last = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  connecting(): void {
    // Not worth a line in a log.
  }

  connected(): void {
    // The same.
  }

  calling(): void {
    // The same.
  }

  started(task: ShownTask): void {
    this.#task = task;
    this.#line(`task ${sanitizeLine(task.taskId)}`);
  }

  update({ status, statusMessage, taskId }: RemoteTask): void {
    const state = sanitizeLine(statusMessage === undefined ? status : `${status}: ${statusMessage}`);
    const asks = status === "input_required" && this.#task !== undefined;
    this.#line(asks ? `${state}\nIt asks a question. Answer with: ${answerCommand(taskId)}` : state);
  }

  progress({ progress, total, message }: Progress): void {
    const of = total === undefined ? `${progress}` : `${progress}/${total}`;
    this.#line(sanitizeLine(message === undefined ? of : `${of} ${message}`));
  }

  note(line: string): void {
    this.#line(line);
  }

  end(): void {
    // There is no live line.
  }

  #line(line: string): void {
    if (line === this.#last) return;
    this.#last = line;
    this.#write(`${line}\n`);
  }
}
