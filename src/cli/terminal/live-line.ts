import { isInForeground } from "./in-foreground.ts";

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
