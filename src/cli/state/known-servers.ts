import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";
import type { Records } from "./records.ts";

/** Limits the number of tools kept per server, and the length of their names. */
const maxTools = 500;

const longestName = 200;

/** A tool by its name and the first line of its description. */
export interface KnownTool {
  readonly name: string;
  readonly about: string;
}

interface KnownServer {
  readonly name: string;
  readonly spec: ServerSpec;
  /** Its tools when they were last listed. */
  readonly tools: readonly KnownTool[];
}

/** How the servers of stored tasks were given, by their names in references, and their tools. */
export class KnownServers {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Records how the server was given, and its tools if given. */
  keep({ name, spec }: Pick<FoundServer, "name" | "spec">, tools?: readonly KnownTool[]): void {
    const kept = (tools ?? this.#read(name)?.tools ?? [])
      .filter((tool) => tool.name.length <= longestName)
      .map(({ name: tool, about }) => ({ name: tool, about: about.slice(0, longestName) }))
      .slice(0, maxTools);
    this.#records.set("server", name, { name, ...spec, tools: kept });
  }

  /** How the server was given; undefined if that is not stored or cannot be read. */
  find(name: string): ServerSpec | undefined {
    return this.#read(name)?.spec;
  }

  list(): readonly KnownServer[] {
    return this.#records
      .all("server")
      .map(readServer)
      .filter((server) => server !== undefined);
  }

  #read(name: string): KnownServer | undefined {
    const record = this.#records.get("server", name);
    return record && readServer(record);
  }
}

function readServer({ name, given, cwd, config, passEnv, tools }: JsonObject): KnownServer | undefined {
  if (typeof name !== "string" || typeof given !== "string" || typeof cwd !== "string") return undefined;
  const spec = {
    given,
    cwd,
    ...(typeof config === "string" && { config }),
    ...(Array.isArray(passEnv) && { passEnv: passEnv.filter((each) => typeof each === "string") }),
  };
  return {
    name,
    spec,
    tools: Array.isArray(tools) ? tools.map(readTool).filter((tool) => tool !== undefined) : [],
  };
}

function readTool(tool: unknown): KnownTool | undefined {
  const { name, about } = isJsonObject(tool) ? tool : {};
  return typeof name === "string" && typeof about === "string" ? { name, about } : undefined;
}
