import { entryHash, type FolderEntry } from "../server/folder-entry.ts";
import type { Records } from "./records.ts";

/** `changed`: the user trusted another entry of that name in that file. */
export type TrustInEntry = "trusted" | "changed" | "unknown";

type EntryName = Pick<FolderEntry, "path" | "name">;

/** The entries of folders' files that this user has agreed to, each with the hash of what they agreed to. */
export class TrustedEntries {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  read(entry: FolderEntry): TrustInEntry {
    const trusted = this.#records.get("trusted", keyOf(entry));
    if (trusted === undefined) return "unknown";
    return trusted["hash"] === entryHash(entry.entry) ? "trusted" : "changed";
  }

  add(entry: FolderEntry): void {
    const { path, name } = entry;
    this.#records.set("trusted", keyOf(entry), { path, name, hash: entryHash(entry.entry) });
  }

  remove(entry: EntryName): void {
    this.#records.remove("trusted", keyOf(entry));
  }
}

function keyOf({ path, name }: EntryName): string {
  return JSON.stringify([path, name]);
}
