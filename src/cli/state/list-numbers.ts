import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { CallName } from "../../client/handles/handle-store.ts";
import { decodeEntry, encodeEntry } from "../../client/handles/entry-format.ts";
import { makeFolder, writeAtomically } from "../../client/handles/write-atomically.ts";
import { isJsonObject } from "../../generation/message.ts";

/** The numbers of tasks in the last list, valid until the next one. */
export class ListNumbers {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async keep(calls: ReadonlyMap<number, CallName>): Promise<void> {
    const tasks = [...calls].map(([number, { server, generation, key }]) => ({
      number,
      server,
      generation,
      key,
    }));
    await makeFolder(dirname(this.#file));
    await writeAtomically(this.#file, encodeEntry({ tasks }));
  }

  /** The task with that number; undefined if the last list did not have it. */
  async find(number: number): Promise<CallName | undefined> {
    try {
      const { tasks } = decodeEntry(await readFile(this.#file, "utf8"));
      return Array.isArray(tasks)
        ? tasks.filter(isNumbered).find((task) => task.number === number)
        : undefined;
    } catch {
      return undefined;
    }
  }
}

function isNumbered(value: unknown): value is CallName & { readonly number: number } {
  if (!isJsonObject(value)) return false;
  const { number, server, generation, key } = value;
  return typeof number === "number" && [server, generation, key].every((name) => typeof name === "string");
}
