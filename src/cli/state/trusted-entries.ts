import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { decodeEntry, encodeEntry } from "../../client/handles/entry-format.ts";
import { writeAtomically } from "../../client/handles/write-atomically.ts";
import { entryHash, type FolderEntry } from "../server/folder-entry.ts";

/** `changed`: the user trusted another entry of that name in that file. */
export type TrustInEntry = "trusted" | "changed" | "unknown";

type EntryName = Pick<FolderEntry, "path" | "name">;

/** The entries of folders' files that this user has agreed to, each with the hash of what they agreed to: one file each. */
export class TrustedEntries {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(entry: FolderEntry): Promise<TrustInEntry> {
    try {
      const { hash } = decodeEntry(await readFile(this.#file(entry), "utf8"));
      return hash === entryHash(entry.entry) ? "trusted" : "changed";
    } catch {
      return "unknown";
    }
  }

  async add(entry: FolderEntry): Promise<void> {
    const { path, name } = entry;
    await writeAtomically(this.#file(entry), encodeEntry({ path, name, hash: entryHash(entry.entry) }));
  }

  async remove(entry: EntryName): Promise<void> {
    await rm(this.#file(entry), { force: true });
  }

  #file({ path, name }: EntryName): string {
    const hash = createHash("sha256")
      .update(JSON.stringify([path, name]))
      .digest("hex");
    return join(this.#folder, `${hash.slice(0, 40)}.json`);
  }
}
