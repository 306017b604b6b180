import { spawn, type IPty } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { environmentOfTests, folder, program } from "../run-cli.ts";
import { Screen } from "./screen.ts";

interface PtyOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where the program keeps what it knows of tasks. Default: a fresh folder. */
  readonly state?: string;
  /** Started by a shell that lets nobody else have the keys, as with `&`. */
  readonly background?: boolean;
}

/** The keys that prompts know. */
export const keys = {
  enter: "\r",
  down: "\u001b[B",
  up: "\u001b[A",
  space: " ",
  escape: "\u001b",
  backspace: "\u007f",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
} as const;

/**
 * What comes after the program in the shell that runs it: how the terminal is left. The shell stays, since the last
 * bytes of one that ends can be lost.
 */
const afterwards = 'code=$?; stty -a | tr "\\n" " "; echo; echo "exit $code"; read rest';
const over = /^exit (\d+)$/m;

/** The built program on a terminal of its own, and what a person sees there. */
export class Pty {
  readonly screen: Screen;
  /** All bytes so far. */
  raw = "";
  readonly #pty: IPty;
  readonly #watchers = new Set<() => void>();
  #shown: Promise<void> = Promise.resolve();

  private constructor(pty: IPty, columns: number, rows: number) {
    this.#pty = pty;
    this.screen = new Screen(columns, rows);
    pty.onData((bytes) => {
      this.raw += bytes;
      this.#shown = this.#shown.then(async () => this.screen.write(bytes));
      void this.#shown.then(() => this.#tell());
    });
  }

  static async holdfast(args: readonly string[], options: PtyOptions = {}): Promise<Pty> {
    const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(" ");
    const run = options.background === true ? `set -m; ${command} & wait $!` : command;
    return Pty.shell(["-c", `trap : INT TERM; ${run}; ${afterwards}`], options);
  }

  /** A shell with these arguments. */
  static async shell(args: readonly string[], options: Omit<PtyOptions, "background">): Promise<Pty> {
    const { columns = 80, rows = 24, env = {}, cwd, state = await folder() } = options;
    const pty = spawn("/bin/sh", [...args], {
      name: env["TERM"] ?? "xterm-256color",
      cols: columns,
      rows,
      ...(cwd !== undefined && { cwd }),
      env: {
        ...environmentOfTests(),
        HOLDFAST_STATE: state,
        HOLDFAST_TOKEN: "",
        HOLDFAST_KEYRING: "off",
        HOLDFAST_CONFIG: "",
        NO_COLOR: "",
        ...env,
      },
    });
    onTestFinished(() => pty.kill("SIGKILL"));
    return new Pty(pty, columns, rows);
  }

  /** Resolves with what `pattern` finds once that is on the screen. */
  async sees(pattern: RegExp): Promise<RegExpExecArray> {
    return this.until((text) => {
      const found = pattern.exec(text);
      if (found === null && over.test(text)) throw new Error(`It ended without ${String(pattern)}:\n${text}`);
      return found;
    });
  }

  /** Resolves with what `find` finds in the text on the screen. */
  async until<T>(find: (text: string) => T | null): Promise<T> {
    for (;;) {
      const found = find(this.screen.text);
      if (found !== null) return found;
      await new Promise<void>((changed) => this.#watchers.add(changed));
    }
  }

  type(...strokes: readonly string[]): void {
    for (const stroke of strokes) this.#pty.write(stroke);
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** To the program; the shell around it does not heed it. */
  signal(name: "SIGTERM" | "SIGCONT"): void {
    process.kill(-this.#pty.pid, name);
  }

  /** Resolves with the exit code when the program has ended. Throws if it left the terminal in another state. */
  async ends(): Promise<number> {
    const [, code] = await this.sees(over);
    const left = this.screen.text.replaceAll("\n", " ");
    for (const setting of ["icanon", "isig", "echo", "icrnl", "opost"]) {
      if (!left.includes(` ${setting} `)) throw new Error(`The terminal is left without ${setting}`);
    }
    if (this.raw.lastIndexOf("\u001b[?25l") > this.raw.lastIndexOf("\u001b[?25h")) {
      throw new Error("The cursor is left hidden");
    }
    return Number(code);
  }

  #tell(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const changed of watchers) changed();
  }
}

/** The id of the task that the program tells of. */
export async function idOn(pty: Pty): Promise<string> {
  return (await pty.sees(/^task (\S+)$/m))[1] ?? "";
}
