import type { Progress } from "@modelcontextprotocol/client";
import { systemClock } from "../../client/clock.ts";
import type { Io } from "../io.ts";
import { decideAfterInterrupt } from "./decide-after-interrupt.ts";
import { leaveAllOpen } from "./unanswered.ts";
import { watchSignals } from "./signal-watch.ts";
import { askerLabel, type Terminal, type Display, type ShownTask } from "./terminal.ts";
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
      giveUp: (line) => display.note(line),
    },
    close: () => watch[Symbol.dispose](),
  };
}

/** One plain line per change, for pipes, scripts and logs. */
export class PlainDisplay implements Display {
  readonly #write: (text: string) => void;
  #server = "the server";
  #tool: string | undefined;
  #task: ShownTask | undefined;
  #trouble: string | undefined;
  #last = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  connecting(server: string): void {
    this.#server = sanitizeLine(server, 200); // not worth a line in a log
  }

  connected(): void {
    // The same.
  }

  calling(tool: string): void {
    this.about(tool);
  }

  about(tool: string | undefined): void {
    this.#tool = tool === undefined ? undefined : sanitizeLine(tool, 200);
  }

  started(task: ShownTask): void {
    this.#task = task;
    this.about(task.tool);
    this.#line(`task ${sanitizeLine(task.taskId)}`);
  }

  update({ status, statusMessage, taskId, tool }: RemoteTask): void {
    if (this.#tool === undefined) this.about(tool);
    const state = sanitizeLine(statusMessage === undefined ? status : `${status}: ${statusMessage}`);
    const asks = status === "input_required" && this.#task !== undefined;
    this.#line(
      asks
        ? `${state}\n${askerLabel(this.#server, this.#tool)} asks a question. Answer with:\n  ${answerCommand(taskId)}`
        : state,
    );
  }

  progress({ progress, total, message }: Progress): void {
    const of = total === undefined ? `${progress}` : `${progress}/${total}`;
    this.#line(sanitizeLine(message === undefined ? of : `${of} ${message}`));
  }

  trouble(text: string | undefined): void {
    if (text !== undefined) this.#line(text);
    else if (this.#trouble !== undefined) this.#line("server reachable again");
    this.#trouble = text;
  }

  note(line: string): void {
    this.#line(line);
  }

  suspend(): Disposable {
    return { [Symbol.dispose]: () => undefined }; // there is no live line
  }

  end(): void {
    // The same.
  }

  #line(line: string): void {
    if (line === this.#last) return;
    this.#last = line;
    this.#write(`${line}\n`);
  }
}
