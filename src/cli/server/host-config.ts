import { readFile } from "node:fs/promises";
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
 * The config file: that of `--config` or `HOLDFAST_CONFIG`, which must exist, or `.mcp.json` in the working
 * directory, or the user's own.
 */
export async function readHostConfig(
  asked: string | undefined,
  { env, cwd }: Pick<Io, "env" | "cwd">,
): Promise<HostConfig | undefined> {
  const named = asked ?? env["HOLDFAST_CONFIG"];
  if (named !== undefined && named !== "") {
    const found = await readConfigAt(resolve(cwd, named));
    if (found === undefined) throw new UsageError(`There is no config file ${resolve(cwd, named)}.`);
    return found;
  }
  for (const path of usualPaths({ env, cwd })) {
    const found = await readConfigAt(path);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function usualPaths({ env, cwd }: Pick<Io, "env" | "cwd">): readonly string[] {
  return [join(cwd, ".mcp.json"), join(configFolder({ env }), "mcp.json")];
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
    const value = env[name];
    if (value !== undefined && (value !== "" || otherwise === undefined)) return value;
    if (otherwise !== undefined) return otherwise;
    throw new UsageError(`${where} needs the environment variable ${name}, which is not set.`);
  });
}
