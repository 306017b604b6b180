import { accessSync, constants } from "node:fs";
import { constants as osConstants } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/server";
import {
  ExecError,
  type ExecOptions,
  type ExecResult,
  ownVariables,
} from "../../runtime/exec/exec-options.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { HoldfastError } from "../../task/fault.ts";
import { definedOf } from "../../options/options.ts";
import { type ToolInput, described, errorResult, jsonResult, type ToolSettings } from "../tool-settings.ts";
import type { Finding, ToolSource } from "../source.ts";
import { assertPlaceholders, filled, type Scope, onlyPlaceholder, textOf, valueOf } from "../template.ts";
import {
  artifactNames,
  filesOf,
  isHere,
  makeCallFolder,
  mediaTypeOf,
  outFolder,
  readFileOf,
  removeCallFolder,
  removeOldFolders,
} from "./call-folder.ts";
import { Messages, openDescriptors } from "./messages.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";

/**
 * One argument of a command: a text with placeholders. A list is left out as a whole if one of its values is missing, as `["--width", "{width}"]` is.
 * `{ if: "verbose", args: ["-v"] }` is there if the argument `verbose` is true.
 */
export type ArgvItem = string | readonly string[] | { readonly if: string; readonly args: readonly string[] };

/** Throws `configuration` if an item names what is no argument, or the program depends on one. */
function assertArgv(what: string, argv: readonly ArgvItem[], names: readonly string[]): void {
  for (const item of argv) {
    if (typeof item === "object" && "if" in item) assertPlaceholders(what, `{${item.if}}`, names);
    assertPlaceholders(what, item, names);
  }
  const [program] = argv;
  if (typeof program !== "string" || program === "" || program.startsWith("-") || /\{[A-Za-z_]/.test(program))
    throw new HoldfastError(
      "configuration",
      `${what}: a command begins with the name or the path of a program, which depends on no argument.`,
    );
}

/**
 * The arguments of a call, each a text of its own that no shell reads. Throws for a text that the program would take for an option,
 * because it begins with a hyphen where nothing but the value stands.
 */
function argvOf(argv: readonly ArgvItem[], scope: Scope): readonly string[] {
  const words: string[] = [];
  for (const item of argv) {
    if (typeof item === "string") words.push(...wordsOf(item, scope, words));
    else if ("if" in item) {
      if (scope[item.if] === true) for (const each of item.args) words.push(...wordsOf(each, scope, words));
    } else if (item.every((each) => filled(each, scope) !== undefined))
      for (const each of item) words.push(...wordsOf(each, scope, words));
  }
  return words;
}

/** A list becomes one word for each of its items. */
function wordsOf(template: string, scope: Scope, before: readonly string[]): readonly string[] {
  const only = onlyPlaceholder(template);
  const value = only && valueOf(only, scope);
  const texts = Array.isArray(value)
    ? value.map(textOf)
    : [filled(template, scope)].filter((each) => each !== undefined);
  for (const text of texts) assertNoNul(text);
  const mayBeOption =
    template.startsWith("{") &&
    !template.startsWith("{{") &&
    typeof value !== "number" &&
    !before.includes("--");
  const option = mayBeOption ? texts.find((text) => text.startsWith("-")) : undefined;
  if (option === undefined) return texts;
  const name = only?.name ?? /^\{([\w-]+)/.exec(template)?.[1];
  throw new NonRetryableError(
    `The argument "${name}" begins with a hyphen, and ${before[0]} could take it for an option. Write it differently, as a path with ./ in front of it.`,
  );
}

/** Throws for a text that no program can get as an argument or a variable. */
function assertNoNul(text: string): void {
  if (text.includes("\0"))
    throw new NonRetryableError(
      "An argument of the call has a NUL character, which no program can be given.",
    );
}

/** What `task.exec` takes as it is. */
const ofExec = [
  "timeoutMs",
  "killAfterMs",
  "onCrash",
  "onOtherMachine",
  "inheritEnv",
  "retries",
  "niceness",
  "maxOutputBytes",
] as const;

/** How a program is run for a call. */
export interface CommandSettings extends Pick<ExecOptions, (typeof ofExec)[number]> {
  /** The program and its arguments, with placeholders for the arguments of the call and for `{out}`, a folder whose files go to the result. */
  readonly run: readonly ArgvItem[];
  /** What it reads from its standard input: `json` for the arguments as JSON, or a text with placeholders. Default: nothing. */
  readonly stdin?: string;
  /** The folder that it runs in. Default: that of the file, or of the server. */
  readonly cwd?: string;
  /** Variables of its environment, with placeholders. */
  readonly env?: Readonly<Record<string, string>>;
  /** What its standard output is: a text, or JSON, of which an object becomes structured content. Default `text`. */
  readonly output?: "text" | "json";
  /** What exit codes mean: `success`, `retry`, or an error of this text. Default: 0 is success, and all others are errors. */
  readonly exitCodes?: Readonly<Record<string, string>>;
}

const ofCalls = [...ofExec, "run", "stdin", "cwd", "env", "output", "exitCodes"] as const;

/** Options of `command`. */
export interface CommandOptions extends ToolSettings, CommandSettings {}

/**
 * A tool whose calls run a program, without a shell. The program lives on when its server crashes, and the next server goes on with it. What it writes
 * to file descriptor 3, as JSON lines, is progress, status, log lines and questions.
 *
 * ```ts
 * command("thumbnail", {
 *   description: "Makes a small copy of a picture",
 *   inputSchema: { properties: { file: { type: "string" } }, required: ["file"] },
 *   run: ["convert", "--", "{file}", "-resize", "200x200", "{out}/small.png"],
 * });
 * ```
 */
export function command(name: string, options: CommandOptions): ToolSource {
  const call = new CommandCall(name, options);
  return {
    name: `command ${name}`,
    async open(host) {
      host.setTools([call.tool]);
      void removeOldFolders().catch(host.onError);
      return { close: async () => undefined };
    },
    check: async () => [call.findProgram()],
  };
}

const exitNotFound = 127;

class CommandCall {
  readonly #name: string;
  readonly #options: CommandSettings;
  readonly #input: ToolInput;
  readonly tool;

  constructor(name: string, options: CommandOptions) {
    this.#name = name;
    const { run, stdin, env } = options;
    this.#options = { ...definedOf(options, ofCalls), run };
    const { config, input } = described(options, ofCalls);
    const what = `Tool "${name}"`;
    const names = [...input.names, "out"];
    if (input.names.includes("out"))
      throw new HoldfastError(
        "configuration",
        `${what}: an argument of a command cannot have the name "out", which is that of its folder.`,
      );
    assertArgv(what, run, names);
    assertPlaceholders(what, [stdin === "json" ? "" : stdin, env], names);
    this.#input = input;
    this.tool = {
      name,
      config,
      approval: options.approval,
      handler: (args: Record<string, unknown>, task: TaskContext) => this.#call(args, task),
      preview: (args: Record<string, unknown>) => this.#preview(args),
    };
  }

  /** Whether there is such a program. */
  findProgram(): Finding {
    const [program] = this.#options.run as readonly [string];
    const { cwd = process.cwd(), env = {}, inheritEnv = ["PATH"] } = this.#options;
    const { PATH = "/usr/bin:/bin" } = { ...ownVariables(inheritEnv), ...env };
    const places = program.includes("/")
      ? [resolve(cwd, program)]
      : PATH.split(delimiter).map((folder) => join(folder, program));
    const found = places.find(isProgram);
    const where = program.includes("/")
      ? `${places[0]} is no program that can be run`
      : `no folder of PATH has a program ${program}`;
    return { check: `command ${this.#name}`, works: found !== undefined, detail: found ?? where };
  }

  #preview(args: Record<string, unknown>): string {
    const scope = { ...this.#input.withDefaults(args), out: "{out}" };
    const { stdin, cwd } = this.#options;
    const line = argvOf(this.#options.run, scope).map(quoted).join(" ");
    const input = this.#stdinOf(scope);
    return [line, cwd && `in ${cwd}`, stdin && `with this input: ${input}`]
      .filter((each) => each !== undefined)
      .join("\n");
  }

  async #call(given: Record<string, unknown>, task: TaskContext): Promise<CallToolResult> {
    const args = this.#input.withDefaults(given);
    const folder = await task.step(["command", "folder"], makeCallFolder);
    const dispose = (): void => {
      if (task.cancelled) void removeCallFolder(folder).catch(() => undefined); // it is removed some day
    };
    task.signal.addEventListener("abort", dispose, { once: true });
    try {
      const messages = new Messages(folder, task);
      const running = this.#run(folder, { ...args, out: outFolder(folder) }, task);
      await messages.follow(running);
      const ended = await running;
      const { files, result } = await task.step(["command", "collect"], async () => {
        if (!(await isHere(folder)))
          throw new Error("The program has ended on another machine, where its files are.");
        return { files: await filesOf(folder), result: messages.result };
      });
      const links = [];
      for (const [file, name] of artifactNames(files))
        links.push(
          await task.artifact(name, () => readFileOf(folder, file), { mimeType: mediaTypeOf(file) }),
        );
      const said = this.#resultOf(ended, result);
      return { ...said, content: [...said.content, ...links] };
    } finally {
      if (!task.signal.aborted) await removeCallFolder(folder); // else the next attempt may need it
    }
  }

  async #run(folder: string, scope: Scope, task: TaskContext): Promise<ExecResult> {
    const {
      run,
      env = {},
      cwd,
      exitCodes = {},
      output,
      maxOutputBytes = output === "json" ? 1024 * 1024 : 256 * 1024,
      stdin,
      ...exec
    } = this.#options;
    void stdin; // with its values, below
    const meant = Object.entries(exitCodes);
    const isRetried = (error: unknown): boolean =>
      error instanceof ExecError && exitCodes[String(error.exitCode)] === "retry";
    const filledEnv = Object.entries(env).map(([name, text]) => [name, filled(text, scope)] as const);
    for (const [, text = ""] of filledEnv) assertNoNul(text);
    const options: ExecOptions = {
      ...exec,
      ...(cwd !== undefined && { cwd }),
      env: {
        ...Object.fromEntries(filledEnv.filter((each): each is [string, string] => each[1] !== undefined)),
        HOLDFAST_TASK: task.id,
        HOLDFAST_OUT: outFolder(folder),
      },
      stdin: this.#stdinOf(scope),
      maxOutputBytes,
      successCodes: [0, ...meant.filter(([, what]) => what === "success").map(([code]) => Number(code))],
      ...(meant.some(([, what]) => what === "retry") && { retries: exec.retries ?? 3, retryIf: isRetried }),
    };
    try {
      return await task.exec(
        ["command", "run"],
        "/bin/sh",
        ["-c", openDescriptors, "sh", folder, ...argvOf(run, scope)],
        options,
      );
    } catch (error) {
      if (error instanceof ExecError && error.exitCode !== undefined)
        return { exitCode: error.exitCode, stdout: error.stdout, stderr: error.stderr, links: error.links };
      throw error;
    }
  }

  #stdinOf(scope: Scope): string {
    const { stdin = "" } = this.#options;
    if (stdin !== "json") return filled(stdin, scope) ?? "";
    const { out, ...args } = scope;
    void out; // is no argument
    return `${JSON.stringify(args)}\n`;
  }

  #resultOf({ exitCode, stdout, stderr }: ExecResult, result: unknown): CallToolResult {
    const { exitCodes = {}, output = "text", run } = this.#options;
    const meaning = exitCodes[String(exitCode)];
    if (exitCode !== 0 && meaning !== "success") {
      const [program] = run as readonly [string];
      const what =
        exitCode === exitNotFound
          ? `${program} was not found, or has ended with exit code 127.`
          : `${program} has ended with exit code ${exitCode}${signalOf(exitCode)}.`;
      const why = [meaning === "retry" ? undefined : meaning, tailOf(stderr), tailOf(stdout)].find(
        (each) => each !== undefined && each !== "",
      );
      return errorResult(
        meaning === undefined || meaning === "retry"
          ? `${what}${why === undefined ? "" : `\n${why}`}`
          : meaning,
      );
    }
    if (result !== undefined) return jsonResult(result);
    if (output === "text") return { content: [{ type: "text", text: stdout.trimEnd() }] };
    try {
      return jsonResult(JSON.parse(stdout));
    } catch {
      return errorResult(`The program has ended well, but what it printed is no JSON:\n${tailOf(stdout)}`);
    }
  }
}

/** Which signal the exit code stands for, as a shell has it. */
function signalOf(exitCode: number): string {
  const name = Object.entries(osConstants.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return name === undefined ? "" : `, which stands for ${name}`;
}

/** The last lines. */
function tailOf(text: string): string {
  return text.trimEnd().split("\n").slice(-20).join("\n");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isAbsolute(path);
  } catch {
    return false;
  }
}
