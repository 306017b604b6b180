import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "../../generation/json-object.ts";
import { makeFolder, writeAtomically } from "../../client/handles/write-atomically.ts";
import type { FoundServer, ServerSpec } from "../server/find-server.ts";

/** Incremented by changes that an earlier version could not read. */
const format = 1;

/** How the servers of stored tasks were given, by their names in references. */
export class KnownServers {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async keep({ name, spec }: FoundServer): Promise<void> {
    await makeFolder(this.#folder);
    await writeAtomically(this.#file(name), `${JSON.stringify({ format, name, ...spec })}\n`);
  }

  /** How the server was given; undefined if that is not stored or cannot be read. */
  async find(name: string): Promise<ServerSpec | undefined> {
    const text = await readFile(this.#file(name), "utf8").catch(() => undefined);
    const value: unknown = text === undefined ? undefined : parsed(text);
    if (!isJsonObject(value) || value["format"] !== format) return undefined;
    const { given, cwd, config } = value;
    if (typeof given !== "string" || typeof cwd !== "string") return undefined;
    return { given, cwd, ...(typeof config === "string" && { config }) };
  }

  #file(name: string): string {
    return join(this.#folder, `${createHash("sha256").update(name).digest("hex").slice(0, 40)}.json`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
