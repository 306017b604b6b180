import xterm from "@xterm/headless";

/** What a terminal makes of the bytes that are written to it. */
export class Screen {
  readonly #terminal: xterm.Terminal;

  constructor(columns: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  }

  /** Resolves when all of it is on the screen. */
  async write(bytes: string): Promise<void> {
    return new Promise((done) => this.#terminal.write(bytes, done));
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** All lines with something in them, those that scrolled away first; a line that was wrapped is one. */
  get text(): string {
    const { active } = this.#terminal.buffer;
    let text = "";
    for (let index = 0; index < active.length; index++) {
      const line = active.getLine(index);
      if (line === undefined) continue;
      // The spaces at the end of a row that goes on in the next one are part of the line.
      const isWhole = active.getLine(index + 1)?.isWrapped !== true;
      text += `${line.isWrapped || index === 0 ? "" : "\n"}${line.translateToString(isWhole)}`;
    }
    return text.trimEnd();
  }

  /** Counted from the top of the window. */
  get cursor(): { readonly x: number; readonly y: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { x: cursorX, y: cursorY };
  }
}
