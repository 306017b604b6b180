import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import type { ConnectOptions } from "../client/connect-options.ts";
import { protocolVersions } from "../generation/generations.ts";

// What a command is: its words, arguments, options and examples. Help, completion, the reference and the types of what its code is given all
// come from this.

interface Settings {
  readonly parse?: (text: string, before?: readonly string[]) => unknown;
  readonly choices?: readonly string[];
  readonly default?: unknown;
  /** The option that it cannot be given with. */
  readonly conflicts?: string;
  readonly hidden?: true;
  readonly required?: true;
}

/** As commander reads them: `<name>`, `[name]`, `<names...>`. */
export type DeclaredArgument = readonly [
  term: string,
  does: string,
  settings?: Pick<Settings, "choices" | "default">,
];

/** As commander reads them: `--name`, `--name <value>`, `--no-name`, `-n, --name`. */
export type DeclaredOption = readonly [flags: string, does: string, settings?: Settings];

/** A command line, and what it does. */
export type Example = readonly [line: string, does: string];

export interface DeclaredCommand {
  readonly does: string;
  readonly args?: readonly DeclaredArgument[];
  readonly options?: readonly DeclaredOption[];
  /** The document that `--json` prints, as the reference says it in Markdown. */
  readonly prints?: string | undefined;
  /** Where the arguments do not say it. */
  readonly usage?: string;
  readonly examples?: readonly Example[];
}

/** Commands by their words, in the order of the help. */
export type Declared = Readonly<Record<string, DeclaredCommand>>;

export function declare<const Commands extends Declared>(commands: Commands): Commands {
  return commands;
}

type FirstWord<Text> = Text extends `${infer Word} ${string}` ? Word : Text;

type Camel<Word> = Word extends `${infer Start}-${infer Rest}` ? `${Start}${Capitalize<Camel<Rest>>}` : Word;

type OptionName<Flags> = Flags extends `${string}--no-${infer Name}` | `${string}--${infer Name}`
  ? Camel<FirstWord<Flags extends `${string}--no-${infer Negated}` ? Negated : Name>>
  : never;

type TextOf<Each> = Each extends { readonly choices: readonly (infer Choice)[] } ? Choice : string;

type OptionValue<Each> = Each extends readonly [
  unknown,
  unknown,
  { readonly parse: (text: string) => infer Value },
]
  ? Value
  : Each extends readonly [infer Flags, unknown, (infer More)?]
    ? Flags extends `${string}<${string}`
      ? TextOf<More>
      : Flags extends `${string}--no-${string}`
        ? boolean
        : true
    : never;

type AlwaysThere =
  | readonly [`--no-${string}`, ...unknown[]]
  | readonly [unknown, unknown, { readonly default: unknown } | { readonly required: true }];

/** The options of a command, as its code gets them. */
export type OptionsOf<Options extends readonly DeclaredOption[]> = {
  readonly [
    Each in Options[number] as Each extends AlwaysThere ? never : OptionName<Each[0]>
  ]?: OptionValue<Each>;
} & { readonly [Each in Extract<Options[number], AlwaysThere> as OptionName<Each[0]>]: OptionValue<Each> };

type ArgumentName<Term> = Term extends
  `<${infer Name}...>` | `[${infer Name}...]` | `<${infer Name}>` | `[${infer Name}]`
  ? Name extends `${infer Short}...`
    ? Short
    : Name
  : never;

type ArgumentValue<Each> = Each extends readonly [`${string}...${string}`, ...unknown[]]
  ? readonly string[]
  : Each extends readonly [`[${string}`, string]
    ? string | undefined
    : Each extends readonly [unknown, unknown, infer More]
      ? TextOf<More>
      : string;

/** What the code of a command gets: its arguments by their names, and its options. */
export type GivenTo<Declaration extends DeclaredCommand> = {
  readonly [Each in NonNullable<Declaration["args"]>[number] as ArgumentName<Each[0]>]: ArgumentValue<Each>;
} & { readonly options: OptionsOf<NonNullable<Declaration["options"]>> };

/** Adds declared arguments and options to a command. */
export function addParts(
  command: Command,
  { args = [], options = [] }: Pick<DeclaredCommand, "args" | "options">,
): void {
  for (const [term, about, { choices, default: usual } = {}] of args) {
    const argument = new Argument(term, about).default(usual);
    command.addArgument(choices === undefined ? argument : argument.choices(choices));
  }
  for (const [flags, about, settings = {}] of options) {
    const { parse, choices, default: usual, conflicts = [], hidden, required } = settings;
    const option = new Option(flags, about).default(usual).conflicts([conflicts].flat());
    if (parse !== undefined)
      option.argParser<unknown>((text, before) => parse(text, before as readonly string[]));
    if (choices !== undefined) option.choices(choices);
    command.addOption(option.hideHelp(hidden === true).makeOptionMandatory(required === true));
  }
}

export const serverForms = "a URL, a command line in quotes, or a name from a config file with mcpServers";

export const databaseForms = "the server's SQLite file, sqlite:PATH, or postgres://HOST/DATABASE";

export const placeForms = `${databaseForms.replace(", or postgres", ", postgres")}, or the URL of its admin endpoint`;

export const idForms = "the task's id, or the start of it";

export const jsonHelp = "print JSON; holdfast docs cli-json describes it";

export const json = ["--json", jsonHelp] as const;

export const config = ["--config <file>", "a config file to use instead of your own and .mcp.json"] as const;

export const trust = ["--trust", "trust the server's entry in .mcp.json, for this command"] as const;

export const header = [
  "--header <line>",
  'an HTTP header, "Name: value"; can be repeated',
  { parse: collect },
] as const;

/** What every command that reaches a server has. */
export const serverOptions = [
  json,
  config,
  trust,
  [
    "--pass-env <name>",
    "a variable HOLDFAST_… to pass to a command line; it gets all others; can be repeated",
    { parse: collect },
  ],
  ["--token <token>", "a bearer token; other users of this machine can see it, so prefer HOLDFAST_TOKEN"],
  header,
  [
    "--protocol <version>",
    "speak only this protocol version; earlier: the latest before 2026-07-28",
    { choices: [...protocolVersions, "earlier"] as NonNullable<ConnectOptions["protocolVersion"]>[] },
  ],
  ["--connect-timeout <seconds>", "how long connecting may take (default: no limit)", { parse: seconds }],
  ["--insecure", "accept any certificate of the server, such as one that it signed itself"],
  ["--verbose", "print each message of the protocol on stderr, without secrets"],
  ["--record <file>", "append each message of the protocol to this file, for holdfast replay"],
] as const;

/** `does` says what happens to the work. */
export function timeout(does = "how long to wait; the task continues") {
  return ["--timeout <seconds>", does, { parse: seconds }] as const;
}

export const maxChars = [
  "--max-chars <count>",
  "print at most this many characters of the result",
  {
    parse: (text: string): number => {
      if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
      return Number(text);
    },
  },
] as const;

export const save = [
  "--save <dir>",
  "save images, audio and resources to this folder, and print their paths",
] as const;

function seconds(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !(number >= 0)) throw new InvalidArgumentError("It must be a number, 0 or more.");
  return number;
}

export function secondsAboveZero(text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new InvalidArgumentError("It must be a number above 0.");
  return number;
}

export function port(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw new InvalidArgumentError("It must be a whole number from 0 to 65535.");
  return number;
}

/** An option that can be repeated. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** A server that anyone with npm can start. */
export const everything = "npx -y @modelcontextprotocol/server-everything";

const widest = 80;

/** The last cell stays free, since some terminals wrap there. */
function widthFor(columns: number | undefined): number {
  return Math.max(40, Math.min(columns ?? widest, widest)) - 1;
}

/** Gives the help of all commands its width. */
export function layOutHelp(program: Command, columns: number | undefined): void {
  const layOut = (command: Command): void => {
    command.configureHelp({
      ...command.configureHelp(),
      helpWidth: widthFor(columns),
      subcommandTerm: termOf,
    });
    for (const part of command.commands) layOut(part);
  };
  layOut(program);
  program.addHelpText("after", "\nholdfast help COMMAND shows a command's options, with examples.");
}

/** Longer terms leave no room for a description. */
const widestTerm = 33;

/** Leaves out options, which most commands have, and the store, which comes before the commands of `admin`. */
function termOf(command: Command): string {
  const isAdmins = command.parent?.name() === "admin";
  const words = command.registeredArguments
    .filter((argument) => !(isAdmins && argument.name() === "store"))
    .map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? `<${name}>` : `[${name}]`;
    });
  const term = [command.name(), ...words].join(" ");
  if (term.length <= widestTerm) return term;
  const fitting = words.filter(
    (_, at) => [command.name(), ...words.slice(0, at + 1), "..."].join(" ").length <= widestTerm,
  );
  return [command.name(), ...fitting, "..."].join(" ");
}

/** The examples at the end of a command's help. */
export function exampleText(shown: readonly Example[]): string {
  return `\nExamples:\n${exampleLines(shown)}`;
}

function exampleLines(shown: readonly Example[]): string {
  return shown.map(([line, does]) => `  ${line}\n      ${does}`).join("\n");
}

/** The first commands to try, on the start page. */
export const firstCommands: readonly Example[] = [
  [`holdfast tools "${everything}"`, "lists a server's tools; npx starts this one"],
  [`holdfast call "${everything}" echo message=hi`, "calls a tool and prints its result"],
  ["holdfast ls", "lists your tasks and their status"],
];

/** Printed when the command gets no arguments. */
export const startPage = `Calls tools of any MCP server, and keeps their tasks until you have the result.

Three commands to try:

${firstCommands.map((example) => exampleLines([example])).join("\n\n")}

Instead of a quoted command, a server can also be a URL, such as
http://127.0.0.1:3000/mcp, or a name from .mcp.json.

Then:
  holdfast help             all commands
  holdfast help call        one command, with examples
  holdfast init my-server   a server of your own, whose tasks survive crashes
`;
