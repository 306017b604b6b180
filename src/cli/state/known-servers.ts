import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../client/handles/write-atomically.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";

/** Incremented by changes that an earlier version could not read. */
const format = 1;

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
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records how the server was given, and its tools if given. */
  async keep(
    { name, spec }: Pick<FoundServer, "name" | "spec">,
    tools?: readonly KnownTool[],
  ): Promise<void> {
    const known = tools ?? (await this.#read(this.#file(name)))?.tools ?? [];
    const kept = known
      .filter((tool) => tool.name.length <= longestName)
      .map(({ name: tool, about }) => ({ name: tool, about: about.slice(0, longestName) }))
      .slice(0, maxTools);
    await writeAtomically(
      this.#file(name),
      `${JSON.stringify({ format, name, ...spec, ...(kept.length > 0 && { tools: kept }) })}\n`,
    );
  }

  /** How the server was given; undefined if that is not stored or cannot be read. */
  async find(name: string): Promise<ServerSpec | undefined> {
    return (await this.#read(this.#file(name)))?.spec;
  }

  async list(): Promise<readonly KnownServer[]> {
    const files = (await readdir(this.#folder).catch(() => [])).filter((file) => file.endsWith(".json"));
    const all = await Promise.all(files.map(async (file) => this.#read(join(this.#folder, file))));
    return all.filter((server) => server !== undefined);
  }

  async #read(file: string): Promise<KnownServer | undefined> {
    const text = await readFile(file, "utf8").catch(() => undefined);
    const value: unknown = text === undefined ? undefined : parsed(text);
    if (!isJsonObject(value) || value["format"] !== format) return undefined;
    const { name, given, cwd, config, passEnv, tools } = value;
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

  #file(name: string): string {
    return join(this.#folder, `${createHash("sha256").update(name).digest("hex").slice(0, 40)}.json`);
  }
}

function readTool(tool: unknown): KnownTool | undefined {
  if (typeof tool === "string") return { name: tool, about: "" }; // of an earlier version
  const { name, about } = isJsonObject(tool) ? tool : {};
  return typeof name === "string" && typeof about === "string" ? { name, about } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
