import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { withoutMark } from "../arguments/exact-json.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../errors.ts";
import { configFolder } from "../user-folders.ts";

/** A config file with `mcpServers`, as used by MCP hosts. */
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

export function folderConfigPath(cwd: string): string {
  return join(cwd, ".mcp.json");
}

/** A pipe or a device in a folder of others would never end. */
const maxFolderConfigBytes = 1_048_576;

/** The file in the working directory. Whoever made the folder wrote it. */
export async function readFolderConfig(cwd: string): Promise<HostConfig | undefined> {
  const path = folderConfigPath(cwd);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isFile() || found.size > maxFolderConfigBytes)
    throw new UsageError(`The config file ${path} is not a file of at most 1 MiB.`);
  return readConfigAt(path);
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
  let value: unknown;
  try {
    value = JSON.parse(withoutMark(text));
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const servers = isJsonObject(value) ? value["mcpServers"] : undefined;
  if (!isJsonObject(servers)) throw new UsageError(`${path} has no object "mcpServers".`);
  return { path, folder: dirname(path), servers: new Map(Object.entries(servers)) };
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
  "streamableHttp",
  "sse",
]);

/** `where` names the entry in errors. */
export function readHostEntry(value: unknown, where: string): HostEntry {
  if (!isJsonObject(value)) throw new UsageError(`${where}: it must be an object.`);
  const { type, command, url } = value;
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
    [...text.matchAll(reference)].map(({ groups }) => groups?.["name"] ?? ""),
  );
  return [...new Set(names)];
}

const reference = /\$\{(?:env:)?(?<name>[A-Za-z_]\w*)(?::-(?<otherwise>[^}]*))?\}/g;

/**
 * Expands environment variables as hosts do: `${NAME}`, `${env:NAME}` and `${NAME:-default}`. `where` names the
 * entry in the error for a variable that is not set.
 */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  where: string,
): string {
  return text.replace(reference, (_, name: string, otherwise: string | undefined) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && (value !== "" || otherwise === undefined)) return value;
    if (otherwise !== undefined) return otherwise;
    throw new UsageError(`${where} needs the environment variable ${name}, which is not set.`);
  });
}
