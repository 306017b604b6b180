import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFailed } from "vitest";
import { folder, program, root } from "../run-cli.ts";
import { Pty } from "../terminal/pty.ts";
import { stable } from "./stable.ts";

interface ShellOptions {
  readonly columns: number;
  readonly rows: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The entries of the config file: names of servers. */
  readonly servers?: Readonly<Record<string, object>>;
}

/** What the shell asks with: it shows the exit code of the command before. */
const prompt = /^(?=\[\d+\] \$)/m;

/** What a terminal is sent to colour text, and to move, hide and show its cursor. Any other control character is a fault. */
// oxlint-disable-next-line no-control-regex
const expected = /\u001b\[[\d;]*[A-HJKm]|\u001b\[\?(?:7|25|2004)[hl]|[\r\n]/g;
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f]/;

/** A person at a shell, who types commands, and all that is on the screen meanwhile. */
export class Shell {
  readonly #pty: Pty;
  readonly #columns: number;
  readonly #shown: string[] = [];
  readonly #hidden: [RegExp, string][] = [];
  #commands = 0;

  private constructor(pty: Pty, columns: number) {
    this.#pty = pty;
    this.#columns = columns;
  }

  static async open({ columns, rows, env = {}, servers = {} }: ShellOptions): Promise<Shell> {
    const cwd = await folder();
    const profile = join(cwd, "profile");
    const config = join(cwd, "mcp.json");
    await writeFile(config, JSON.stringify({ mcpServers: servers }));
    await writeFile(profile, `PS1='[$?] $ '\nholdfast() { '${process.execPath}' '${program}' "$@"; }\n`);
    const PATH = `${root}node_modules/.bin:${process.env["PATH"]}`;
    const pty = await Pty.shell(["-i"], {
      columns,
      rows,
      cwd,
      env: { PATH, ENV: profile, HOLDFAST_CONFIG: config, ...env },
    });
    onTestFailed(() => console.log(pty.screen.text));
    const shell = new Shell(pty, columns);
    await shell.#asked();
    return shell;
  }

  /** Has something of the server, which differs from run to run, replaced. */
  hides(pattern: RegExp, replacement: string): void {
    this.#hidden.push([pattern, replacement]);
  }

  /** Types a command, and waits for its end. */
  async runs(command: string): Promise<void> {
    this.types(command);
    await this.ends();
  }

  types(command: string): void {
    this.#commands++;
    this.press(`${command}\r`);
  }

  press(...strokes: readonly string[]): void {
    this.#pty.type(...strokes);
  }

  /** Resolves once the command that was typed last shows `pattern`. */
  async sees(pattern: RegExp): Promise<void> {
    const command = this.#commands - 1;
    await this.#pty.until((text) => {
      const shown = blocks(text);
      if (pattern.test(shown[command] ?? "")) return true;
      if (shown.length > this.#commands) throw new Error(`It ended without ${String(pattern)}:\n${text}`);
      return null;
    });
  }

  /** Keeps what the command shows now and overwrites later. */
  keeps(): void {
    this.#shown.push(this.#block(this.#commands - 1), "┄┄┄┄┄┄┄┄");
  }

  /** Resolves once the command that was typed last has ended. */
  async ends(): Promise<void> {
    await this.#asked();
    this.#shown.push(this.#block(this.#commands - 1));
    const { raw } = this.#pty;
    if (raw.lastIndexOf("\u001b[?25l") > raw.lastIndexOf("\u001b[?25h"))
      throw new Error("The cursor is left hidden");
    const [stray] = control.exec(raw.replaceAll(expected, "")) ?? [];
    if (stray !== undefined) throw new Error(`The terminal was sent ${JSON.stringify(stray)}`);
  }

  /** All commands with what they have shown. */
  get transcript(): string {
    return `${[...this.#shown, this.#block(this.#commands)].join("\n")}\n`;
  }

  async #asked(): Promise<void> {
    await this.#pty.until((text) => blocks(text).length > this.#commands || null);
  }

  #block(index: number): string {
    return stable(blocks(this.#pty.screen.text)[index] ?? "", this.#columns, this.#hidden);
  }
}

/** Each command with what it has shown so far. */
function blocks(text: string): readonly string[] {
  return text
    .split(prompt)
    .map((block) => block.trimEnd())
    .filter((block) => block !== "");
}
