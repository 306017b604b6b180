import { sanitizeText } from "./sanitize.ts";

/** The alternate screen, so that the previous contents come back. */
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const toTop = "\u001b[H";
const clearRest = "\u001b[K";
const clearBelow = "\u001b[J";

/** A full-screen view that is redrawn in place until it is disposed. Cuts text that does not fit. */
export class LiveScreen implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  #text = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    stream.write(enter);
    stream.on("resize", this.#onResize);
    process.on("exit", this.#giveBack);
  }

  draw(text: string): void {
    this.#text = text;
    const lines = sanitizeText(text).split("\n");
    const last = lines.at(-1) ?? "";
    const room = Math.max(1, this.#stream.rows - 1);
    // The last line, which says how to quit, stays visible.
    const shown = [...lines.slice(0, -1).slice(0, room), last];
    this.#stream.write(`${toTop}${shown.join(`${clearRest}\r\n`)}${clearRest}${clearBelow}`);
  }

  [Symbol.dispose](): void {
    this.#stream.off("resize", this.#onResize);
    process.off("exit", this.#giveBack);
    this.#giveBack();
  }

  readonly #onResize = (): void => this.draw(this.#text);

  readonly #giveBack = (): void => void this.#stream.write(leave);
}
