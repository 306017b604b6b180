import { styleText } from "node:util";
import { count, counted, printable } from "../wording.ts";

type Style = Parameters<typeof styleText>[0];

const margin = "    ";
const widestText = 100;
const widestBar = 40;

/** Where the demo tells its story: with colours and a moving bar on a terminal, in plain lines anywhere else. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #isTerminal: boolean;
  readonly #isColoured: boolean;
  #barShown = false;
  #quarter = -1;

  constructor(out: NodeJS.WriteStream, env: NodeJS.ProcessEnv) {
    this.#out = out;
    this.#isTerminal = out.isTTY && env["TERM"] !== "dumb";
    this.#isColoured = this.#isTerminal && (env["NO_COLOR"] ?? "") === "";
  }

  /** A numbered scene of the story. */
  scene(n: number, text: string): void {
    this.#paragraph(` ${n}  `, text, "bold");
  }

  note(text: string): void {
    this.#paragraph(margin, text, "dim");
  }

  claim(holds: boolean, text: string): void {
    this.#paragraph(holds ? "  ✓ " : "  ✗ ", text, holds ? "green" : "red");
  }

  /** Lines of a document: cut where they are too long, since wrapping would break its tables. */
  quote(lines: readonly string[]): void {
    for (const line of lines) {
      const text = printable(line);
      const room = this.#columns - margin.length - 2;
      const cut = this.#isTerminal && text.length > room ? `${text.slice(0, room - 1)}…` : text;
      this.#write(`${margin}${this.#paint("dim", "│")} ${cut}`.trimEnd());
    }
  }

  /** The same place on a terminal each time; elsewhere a line for each quarter. */
  bar(done: number, total: number, one = "file"): void {
    const share = total === 0 ? 1 : done / total;
    const label = `${Math.floor(share * 100)} %`.padStart(5) + `  ${count(done)} of ${counted(total, one)}`;
    const quarter = Math.floor(share * 4);
    if (!this.#isTerminal) {
      if (quarter > this.#quarter) this.#write(`${margin}${label.trim()}`);
      this.#quarter = Math.max(quarter, this.#quarter);
      return;
    }
    const width = Math.max(8, Math.min(widestBar, this.#columns - margin.length - label.length - 2));
    const full = Math.round(share * width);
    const drawn = this.#paint("cyan", "█".repeat(full)) + this.#paint("dim", "░".repeat(width - full));
    this.#out.write(`\r${margin}${drawn} ${label}\u001B[K`);
    this.#barShown = true;
  }

  /** Leaves the bar as it is. */
  endBar(): void {
    if (this.#barShown) this.#out.write("\n");
    this.#barShown = false;
  }

  #paragraph(lead: string, text: string, style: Style): void {
    const lines = wrap(printable(text), this.#isTerminal ? this.#columns - margin.length : Infinity);
    for (const [index, line] of lines.entries()) {
      const isDim = style === "dim";
      const start = index === 0 ? lead : margin;
      this.#write(isDim ? this.#paint(style, start + line) : this.#paint(style, start) + line);
    }
  }

  get #columns(): number {
    return Math.min(this.#out.columns ?? 80, widestText);
  }

  #write(line: string): void {
    this.endBar();
    this.#out.write(`${line}\n`);
  }

  #paint(style: Style, text: string): string {
    return this.#isColoured ? styleText(style, text, { validateStream: false }) : text;
  }
}

function wrap(text: string, room: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines.splice(-1, 1, word);
    else if (line.length + 1 + word.length <= room) lines.splice(-1, 1, `${line} ${word}`);
    else lines.push(word);
  }
  return lines;
}
