import { sanitizeText } from "./sanitize.ts";

/** Another screen, so that what was on this one comes back. */
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const toTop = "\u001b[H";
const clearRest = "\u001b[K";
const clearBelow = "\u001b[J";

/** A whole terminal that is redrawn in place, until it is disposed. Texts that do not fit are cut. */
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
    // What ends the view is said in its last line, whatever is above.
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
