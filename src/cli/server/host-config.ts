import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isJsonObject } from "../../generation/json-object.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../usage-error.ts";
import { readHostEntry, type HostEntry } from "./host-entry.ts";

/** A file with `mcpServers`, as MCP hosts have it. */
export interface HostConfig {
  readonly path: string;
  /** Where relative paths in it start. */
  readonly folder: string;
  readonly servers: ReadonlyMap<string, unknown>;
}

/**
 * The file that names servers: the one that is asked for by `--config` or `HOLDFAST_CONFIG`, which has to be there, else
 * `.mcp.json` in the working directory, else the user's own.
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
  const home = env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config");
  return [join(cwd, ".mcp.json"), join(home, "holdfast", "mcp.json")];
}

/** The server of that name, if the file has it. */
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
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const servers = isJsonObject(value) ? value["mcpServers"] : undefined;
  if (!isJsonObject(servers)) throw new UsageError(`${path} has no object "mcpServers".`);
  return { path, folder: dirname(path), servers: new Map(Object.entries(servers)) };
}
