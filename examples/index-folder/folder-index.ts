import { describeLeftOut } from "./left-out.ts";
import type { Listing } from "./list-files.ts";
import type { FileFacts, Omission, ReadResult } from "./read-facts.ts";

export interface IndexedFile extends FileFacts {
  readonly path: string;
}

/** The result of reading every file in a listing. */
export interface FolderIndex {
  readonly root: string;
  readonly files: readonly IndexedFile[];
  readonly words: number;
  readonly bytes: number;
  /** Files with the content of another one. */
  readonly copies: number;
  readonly leftOut: readonly string[];
}

export function folderIndex(listing: Listing, results: ReadonlyMap<string, ReadResult>): FolderIndex {
  const files: IndexedFile[] = [];
  const omitted: Record<Omission, number> = { binary: 0, tooLarge: 0, vanished: 0, unreadable: 0 };
  for (const path of listing.files) {
    const result = results.get(path) ?? { omitted: "unreadable" };
    if ("omitted" in result) omitted[result.omitted]++;
    else files.push({ path, ...result });
  }
  return {
    root: listing.root,
    files,
    words: files.reduce((sum, { words }) => sum + words, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    copies: files.length - new Set(files.map(({ sha256 }) => sha256)).size,
    leftOut: describeLeftOut(listing, omitted),
  };
}
