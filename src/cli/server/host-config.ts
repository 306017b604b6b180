import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { withoutMark } from "../arguments/parse-arguments.ts";
import { type Io, configFolder } from "../io.ts";
import { UsageError } from "../errors.ts";
import { commandVariables, prefix } from "../../options/command-variables.ts";

/** A config file of an MCP host, or in that form. */
export interface HostConfig {
  readonly path: string;
  /** The base of relative paths in it. */
  readonly folder: string;
  readonly servers: ReadonlyMap<string, unknown>;
}

/**
 * The file whose entries are the user's own word: that of `--config` or `HOLDFAST_CONFIG`, which must exist, or the
 * user's own.
 */
export async function readUsersConfig(
  asked: string | undefined,
  { env, cwd }: Pick<Io, "env" | "cwd">,
): Promise<HostConfig | undefined> {
  if (asked === undefined || asked === "") return readConfigAt(usersConfigPath({ env }));
  const path = resolve(cwd, asked);
  const found = await readConfigAt(path);
  if (found === undefined) throw new UsageError(`There is no config file ${path}.`);
  return found;
}

export function usersConfigPath({ env }: Pick<Io, "env">): string {
  return join(configFolder({ env }), "mcp.json");
}

/** The files of hosts that a working directory may have; the first one is also ours. */
const folderFiles = [".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"] as const;

export function folderConfigPath(cwd: string): string {
  return join(cwd, folderFiles[0]);
}

/** A pipe or a device in a folder of others would never end. */
const maxFolderConfigBytes = 1_048_576;

/** The files in the working directory. Whoever made the folder wrote them. Those of other hosts are left out if they cannot be read. */
export async function readFolderConfigs(cwd: string): Promise<readonly HostConfig[]> {
  const [first, ...others] = folderFiles.map((file) => join(cwd, file));
  const ours = await readFolderConfig(first ?? cwd);
  const theirs = await Promise.all(others.map(async (path) => readFolderConfig(path).catch(() => undefined)));
  return [ours, ...theirs].filter((config) => config !== undefined);
}

async function readFolderConfig(path: string): Promise<HostConfig | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isFile() || found.size > maxFolderConfigBytes)
    throw new UsageError(`The config file ${path} is not a file of at most 1 MiB.`);
  return readConfigAt(path);
}

/** The server of that name in the first file that has one. */
export function entryIn(
  configs: readonly HostConfig[],
  name: string,
): { readonly config: HostConfig; readonly entry: HostEntry } | undefined {
  const config = configs.find(({ servers }) => servers.has(name));
  const entry = config && entryOf(config, name);
  return config && entry && { config, entry };
}

/** The server of that name, if there is one. */
export function entryOf(config: HostConfig, name: string): HostEntry | undefined {
  if (!config.servers.has(name)) return undefined;
  return readHostEntry(config.servers.get(name), `${config.path}, server ${JSON.stringify(name)}`);
}

async function readConfigAt(path: string): Promise<HostConfig | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new UsageError(`The config file cannot be read: ${String(error)}`);
  }
  const { servers } = serversIn(text, path);
  return { path, folder: baseFolder(path), servers: new Map(Object.entries(servers)) };
}

/** Where hosts have their servers: Claude and most others, Visual Studio Code in two files, and Zed. */
const places = [["mcpServers"], ["servers"], ["mcp", "servers"], ["context_servers"]];

/** The servers in the text of a config file, and where they are in it. */
export function serversIn(
  text: string,
  path: string,
): { readonly servers: JsonObject; readonly place: readonly string[] } {
  const value = parseConfig(text, path);
  const found = places
    .map((place) => ({ place, servers: place.reduce<unknown>(memberOf, value) }))
    .filter((each): each is { servers: JsonObject; place: string[] } => isJsonObject(each.servers));
  const first = found.find(({ servers }) => Object.keys(servers).length > 0) ?? found[0];
  if (first !== undefined) return first;
  if (isJsonObject(value) && Object.keys(value).length === 0) return { servers: {}, place: ["mcpServers"] };
  throw new UsageError(`${path} has no object "mcpServers", and no "servers" as in Visual Studio Code.`);
}

function memberOf(value: unknown, key: string): unknown {
  return isJsonObject(value) ? value[key] : undefined;
}

/** Hosts allow comments and a last comma. A file that is empty has no servers yet. */
function parseConfig(text: string, path: string): unknown {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(withoutMark(text), errors, {
    allowTrailingComma: true,
    disallowComments: false,
  });
  const [error] = errors;
  if (error === undefined) return value;
  const line = text.slice(0, error.offset).split("\n").length;
  throw new UsageError(`${path} is not JSON: ${printParseErrorCode(error.error)} in line ${line}`);
}

/** Relative paths in the files of editors begin at the folder of the project. */
function baseFolder(path: string): string {
  const folder = dirname(path);
  return [".vscode", ".cursor"].includes(basename(folder)) ? dirname(folder) : folder;
}

/** One server in a config file, before variables are expanded. */
export type HostEntry =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
    }
  | { readonly kind: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** The client detects which of the two HTTP transports a server has. */
const httpTypes: ReadonlySet<unknown> = new Set([
  undefined,
  "http",
  "streamable-http",
  "streamable_http",
  "streamableHttp",
  "sse",
]);

/** `where` names the entry in errors. */
export function readHostEntry(value: unknown, where: string): HostEntry {
  if (!isJsonObject(value)) throw new UsageError(`${where}: it must be an object.`);
  const { type, command } = value;
  const url = value["url"] ?? value["serverUrl"] ?? value["httpUrl"]; // as in Windsurf and Gemini CLI
  if (typeof url === "string" && command === undefined && httpTypes.has(type)) {
    return { kind: "http", url, headers: texts(value, "headers", where) };
  }
  if (typeof command === "string" && url === undefined && (type === undefined || type === "stdio")) {
    const { args = [], cwd } = value;
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
      throw new UsageError(`${where}: "args" must be a list of strings.`);
    }
    if (cwd !== undefined && typeof cwd !== "string") {
      throw new UsageError(`${where}: "cwd" must be a string.`);
    }
    return { kind: "process", command, args, env: texts(value, "env", where), cwd };
  }
  throw new UsageError(`${where}: it needs either "command" (type "stdio") or "url" (type "http").`);
}

function texts(entry: JsonObject, name: string, where: string): Record<string, string> {
  const value = entry[name] ?? {};
  if (!isJsonObject(value)) throw new UsageError(`${where}: "${name}" must be an object of strings.`);
  const found: [string, string][] = Object.entries(value).map(([key, text]) => {
    if (typeof text === "string") return [key, text];
    throw new UsageError(`${where}: "${name}.${key}" must be a string.`);
  });
  return Object.fromEntries(found);
}

/** The variables that an entry wants, in the order in which they come. */
export function variablesOf(entry: HostEntry): readonly string[] {
  const all =
    entry.kind === "http"
      ? [entry.url, ...Object.values(entry.headers)]
      : [entry.command, ...entry.args, entry.cwd ?? "", ...Object.values(entry.env)];
  const names = all.flatMap((text) =>
    [...text.replace(workspace, "").matchAll(reference)].map(({ groups }) => groups?.["name"] ?? ""),
  );
  return [...new Set(names)];
}

const reference = /\$\{(?:env:)?(?<name>[A-Za-z_]\w*)(?::-(?<otherwise>[^}]*))?\}/g;

/** The project's folder, in the files of editors. */
const workspace = /\$\{workspaceFolder(?::[^}]*)?\}/g;

/** What Visual Studio Code asks its user for. */
const input = /\$\{input:(?<name>[^}]*)\}/;

/**
 * Expands variables as hosts do: `${NAME}`, `${env:NAME}`, `${NAME:-default}` and `${workspaceFolder}`, which is `folder`. `where` names the
 * entry in the error for a variable that is not set.
 */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  where: string,
  folder = ".",
): string {
  const asked = input.exec(text)?.groups?.["name"];
  if (asked !== undefined)
    throw new UsageError(
      `${where} needs the input ${asked}, which only Visual Studio Code asks for. Write \${${asked}} there, and set that variable.`,
    );
  return text
    .replace(workspace, () => folder)
    .replace(reference, (_, name: string, otherwise: string | undefined) => {
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (value !== undefined && (value !== "" || otherwise === undefined)) return value;
      if (otherwise !== undefined) return otherwise;
      throw new UsageError(`${where} needs the environment variable ${name}, which is not set.`);
    });
}

/** An entry of the file in the working directory, before variables are expanded. */
export interface FolderEntry {
  /** The file. */
  readonly path: string;
  readonly name: string;
  readonly entry: HostEntry;
}

/** Equal for entries that start or send the same. */
export function entryHash(entry: HostEntry): string {
  return createHash("sha256").update(JSON.stringify(entry)).digest("hex");
}

/** What an entry would do: the lines that a user reads before they agree. Nothing in it is expanded, cut or invisible. */
export function describeEntry(entry: HostEntry): string {
  const variables = variablesOf(entry);
  const lines =
    entry.kind === "http"
      ? [
          `connects to: ${visible(entry.url)}`,
          ...Object.entries(entry.headers).map(([name, value]) => `sends: ${visible(`${name}: ${value}`)}`),
        ]
      : [
          `runs: ${[entry.command, ...entry.args].map(visible).join(" ")}`,
          ...(entry.cwd === undefined ? [] : [`in the folder: ${visible(entry.cwd)}`]),
          ...Object.entries(entry.env).map(([name, value]) => `with: ${visible(`${name}=${value}`)}`),
        ];
  const wants = variables.length === 0 ? [] : [`gets your variables: ${variables.join(", ")}`];
  return [...lines, ...wants].map((line) => `  ${line}`).join("\n");
}

/** A text with everything in it that a terminal would not show as it is: bare, or quoted with escapes. */
function visible(text: string): string {
  if (/^[\w@%+=:,./\\$(){}?&-]+$/.test(text)) return text;
  return JSON.stringify(text).replace(/(?! )[\p{C}\p{Z}]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return `\\u{${code}}`;
  });
}

/** Whether the user agrees to an entry of the working directory's file. */
export interface FolderTrust {
  /** Whether they have agreed to it as it is now. */
  has(entry: FolderEntry): Promise<boolean>;
  /** Resolves once they have agreed. Throws a UsageError if they do not, or cannot be asked. */
  assert(entry: FolderEntry): Promise<void>;
}

/**
 * What a program of others that we start for the user, such as a server by its typed command line, gets of our own
 * variables: none, whatever their names, but those that the user passes by name. They are the keys, tokens and databases of
 * our own servers and commands. It gets all other variables, as from a shell.
 */
export function typedEnvironment(
  env: Io["env"],
  passed: readonly string[] = [],
): {
  readonly env: Record<string, string>;
  /** The names of those that it could have read, and does not get. */
  readonly withheld: readonly string[];
} {
  const isPassed = new Set(passed.map((name) => name.toUpperCase()));
  const isWithheld = (name: string): boolean => isOurVariable(name) && !isPassed.has(name.toUpperCase());
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    env: Object.fromEntries(set.filter(([name]) => !isWithheld(name))),
    withheld: set
      .filter(([name, value]) => isWithheld(name) && value !== "" && !commandVariables.includes(name))
      .map(([name]) => name),
  };
}

/** Whether a variable is one of ours. Windows ignores the case of names. */
export function isOurVariable(name: string): boolean {
  return name.toUpperCase().startsWith(prefix);
}
