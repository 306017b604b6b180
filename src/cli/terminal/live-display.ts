import { styleText } from "node:util";
import type { Progress } from "@modelcontextprotocol/client";
import type { ClientClock } from "../../client/clock.ts";
import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { duration, sanitizeLine, statusLine } from "./text.ts";
import { answerCommand } from "../arguments/words.ts";
import { wrappedNote } from "../output/table.ts";
import { askerLabel, type Display, type ShownTask, isInForeground } from "./terminal.ts";

interface LiveOptions {
  readonly clock: Pick<ClientClock, "now">;
  /** Whether the terminal shows more than ASCII. */
  readonly unicode: boolean;
  /** Whether the user can be asked; otherwise the display shows how to answer. */
  readonly asks: boolean;
}

/** A live line with the progress at the bottom of a terminal, and permanent lines above it. */
export class LiveDisplay implements Display {
  readonly #stream: NodeJS.WriteStream;
  readonly #options: LiveOptions;
  readonly #line: LiveLine;
  /** The start of the command, later of its call or task. */
  #since: number;
  #server = "the server";
  #tool: string | undefined;
  #what = "";
  #task: RemoteTask | undefined;
  #progress: Progress | undefined;
  #trouble: string | undefined;
  /** Whether it is known when the call or the task began. */
  #hasStart = false;
  #ended = false;

  constructor(stream: NodeJS.WriteStream, options: LiveOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#since = options.clock.now();
    this.#line = new LiveLine(stream, (columns, frame) => this.#status(columns, frame));
  }

  /** Who asks the questions: "reports, tool render,". */
  get askerLabel(): string {
    return askerLabel(this.#server, this.#tool);
  }

  connecting(server: string): void {
    this.#server = sanitizeLine(server, 200);
    this.#begin(`connecting to ${this.#server}`);
  }

  connected(): void {
    this.#begin(`waiting for ${this.#server}`);
  }

  calling(tool: string): void {
    this.about(tool);
    this.#since = this.#options.clock.now();
    this.#hasStart = true;
    this.#begin(`calling ${this.#tool}`);
  }

  about(tool: string | undefined): void {
    this.#tool = tool === undefined ? undefined : sanitizeLine(tool, 200);
  }

  started({ taskId, tool, startedAt }: ShownTask): void {
    this.#hasStart ||= startedAt !== undefined;
    this.#since = startedAt ?? this.#since;
    this.about(tool);
    this.note(`task ${sanitizeLine(taskId)}`);
    this.#begin(this.#tool ?? "waiting");
  }

  update(task: RemoteTask): void {
    const asked = task.status === "input_required" && this.#task?.status !== "input_required";
    this.#task = task;
    if (!this.#hasStart) this.#beginAt(Date.parse(task.createdAt));
    if (this.#tool === undefined && task.tool !== undefined) {
      this.about(task.tool);
      this.#what = this.#tool ?? this.#what;
    }
    if (asked && !this.#options.asks) {
      this.note(`${this.askerLabel} asks a question. Answer with:\n  ${answerCommand(task.taskId)}`);
    }
    this.#line.draw();
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    this.#line.draw();
  }

  trouble(text: string | undefined): void {
    this.#trouble = text;
    this.#line.draw();
  }

  note(line: string): void {
    this.#line.print(wrappedNote(line, this.#stream.columns));
  }

  suspend(): Disposable {
    return this.#line.suspend();
  }

  /** Hides the live line until `cancelling`. */
  stopLine(): void {
    this.#line.pause();
  }

  cancelling(): void {
    this.#begin("cancelling");
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#line.end();
    const task = this.#task;
    if (task === undefined || !hasEnded(task)) return;
    const isError = task.status === "failed" || (task.status === "completed" && task.result.isError === true);
    const [sign, ascii, colour] =
      task.status === "cancelled"
        ? (["■", "x", "yellow"] as const)
        : isError
          ? (["✖", "x", "red"] as const)
          : (["✔", "*", "green"] as const);
    const outcome = task.status === "completed" && isError ? "ended with an error" : task.status;
    const mark = styleText(colour, this.#options.unicode ? sign : ascii, { stream: this.#stream });
    this.#line.print(
      `${mark} ${this.#tool ?? "task"} ${outcome} ${this.#dim(`after ${duration(lifetimeOf(task) ?? this.#elapsed())}`)}`,
    );
  }

  /** Uses the server's time, unless its clock is ahead. */
  #beginAt(createdAt: number): void {
    this.#hasStart = true;
    if (createdAt <= this.#since) this.#since = createdAt;
  }

  #begin(what: string): void {
    if (this.#ended) return;
    this.#what = what;
    this.#line.begin();
  }

  #status(columns: number, frame: number): string {
    const { progress, total, message } = this.#progress ?? {};
    const task = this.#task;
    // A status message that only repeats the tool's name is left out.
    const status = task?.statusMessage === task?.tool ? undefined : task?.statusMessage;
    const shown = status ?? message;
    const asks = task?.status === "input_required" ? "waits for an answer" : undefined;
    const texts =
      this.#trouble !== undefined
        ? [this.#trouble]
        : [asks, shown].filter((text) => text !== undefined).map((text) => sanitizeLine(text));
    return statusLine(
      { what: this.#what, message: texts.join(": "), progress, total, elapsedMs: this.#elapsed() },
      {
        columns,
        frame,
        unicode: this.#options.unicode,
        paint: (format, text) => styleText(format, text, { stream: this.#stream }),
      },
    );
  }

  #elapsed(): number {
    return this.#options.clock.now() - this.#since;
  }

  #dim(text: string): string {
    return styleText("dim", text, { stream: this.#stream });
  }
}

/** How long an ended task took, by the server's clock. */
function lifetimeOf({ createdAt, lastUpdatedAt }: RemoteTask): number | undefined {
  const ms = Date.parse(lastUpdatedAt) - Date.parse(createdAt);
  return ms >= 0 ? ms : undefined;
}

/** The interval of the spinner. */
const intervalMs = 100;

const hideCursor = "\u001b[?25l";

const showCursor = "\u001b[?25h";

/** Clears only the line: some terminals keep a cleared screen in their scrollback. */
const clear = "\r\u001b[K";

/** No wrapping: terminals differ in the width of characters. */
const noWrap = "\u001b[?7l";

const wrap = "\u001b[?7h";

const clearRest = "\u001b[K";

/** A narrower window may have wrapped the line. */
const clearBelow = "\r\u001b[J";

/**
 * A line that is redrawn in place. The cursor stays at its start, so that after a resize the whole line is behind
 * it. `print` adds lines above.
 */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #render: (columns: number, frame: number) => string;
  readonly #later: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #suspensions = 0;
  #state: "idle" | "live" | "over" = "idle";

  constructor(stream: NodeJS.WriteStream, render: (columns: number, frame: number) => string) {
    this.#stream = stream;
    this.#render = render;
  }

  /** Draws the line from now on. */
  begin(): void {
    if (this.#state === "over") return;
    this.#state = "live";
    this.#show();
  }

  draw(): void {
    if (this.#timer === undefined) return;
    const line = this.#render(this.#stream.columns, this.#frame);
    this.#stream.write(`\r${noWrap}${line}${clearRest}${wrap}\r`);
  }

  /** A line that stays. */
  print(line: string): void {
    if (this.#suspensions > 0) {
      this.#later.push(line);
      return;
    }
    this.#stream.write(`${clear}${line}\n`); // also removes an echoed ^C
    this.draw();
  }

  /** Hides the line until the result is disposed, and delays printed lines until then. */
  suspend(): Disposable {
    this.#suspensions++;
    this.#hide();
    return {
      [Symbol.dispose]: () => {
        this.#suspensions--;
        if (this.#suspensions > 0) return;
        for (const line of this.#later.splice(0)) this.print(line);
        if (this.#state === "live") this.#show();
      },
    };
  }

  /** Hides the line until the next `begin`. */
  pause(): void {
    if (this.#state === "live") this.#state = "idle";
    this.#hide();
  }

  end(): void {
    this.#state = "over";
    this.#hide();
  }

  #show(): void {
    if (this.#suspensions > 0) return;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => {
        this.#frame++;
        this.draw();
      }, intervalMs);
      this.#timer.unref();
      this.#stream.write(hideCursor);
      this.#stream.on("resize", this.#onResize);
      process.on("exit", this.#giveBack);
      process.on("SIGTSTP", this.#onStop);
      process.on("SIGCONT", this.#onContinue);
    }
    this.draw();
  }

  #hide(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#giveBack();
    this.#stream.off("resize", this.#onResize);
    process.off("exit", this.#giveBack);
    process.off("SIGTSTP", this.#onStop);
    process.off("SIGCONT", this.#onContinue);
  }

  readonly #giveBack = (): void => void this.#stream.write(`${clear}${showCursor}`);

  readonly #onResize = (): void => {
    this.#stream.write(clearBelow);
    this.draw();
  };

  /** Ctrl-Z: restores the terminal for the shell. */
  readonly #onStop = (): void => {
    this.#giveBack();
    process.kill(process.pid, "SIGSTOP");
  };

  readonly #onContinue = (): void => {
    if (!isInForeground()) return this.pause(); // after `bg` the terminal belongs to the shell
    this.#stream.write(hideCursor);
    this.draw();
  };
}
