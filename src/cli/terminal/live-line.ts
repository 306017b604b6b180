import { isInForeground } from "./in-foreground.ts";

/** How often a spinner turns. */
const intervalMs = 100;

const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
/** Not all below, which some terminals take for a page to keep. */
const clear = "\r\u001b[K";
/** Without wrapping, since no two terminals agree on the width of all characters. */
const noWrap = "\u001b[?7l";
const wrap = "\u001b[?7h";
const clearRest = "\u001b[K";
/** A narrower window may have made several lines of it. */
const clearBelow = "\r\u001b[J";

/**
 * A line that is drawn again and again in its place. The cursor rests at its begin, so that however a terminal takes
 * a resize, all that was drawn lies behind it. What else is to be read goes above it by `print`.
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
    this.#stream.write(`${clear}${line}\n`); // away with an echoed ^C too
    this.draw();
  }

  /** Takes the line away until that is disposed of; what is printed meanwhile comes then. */
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

  /** Takes the line away until the next `begin`. */
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

  /** Ctrl-Z: the shell gets its terminal as it was. */
  readonly #onStop = (): void => {
    this.#giveBack();
    process.kill(process.pid, "SIGSTOP");
  };

  readonly #onContinue = (): void => {
    if (!isInForeground()) return this.pause(); // after `bg` the line is the shell's
    this.#stream.write(hideCursor);
    this.draw();
  };
}
