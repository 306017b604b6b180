import { skippedFolders, type Listing } from "./list-files.ts";
import type { Omission } from "./read-facts.ts";
import { count, counted, size } from "./wording.ts";

type Reason = readonly [n: number, one: string, many: string, why: string];

/** Says what was left out of a folder's totals, a phrase for each reason; empty if nothing was. */
export function describeLeftOut(
  { limits, leftOut }: Listing,
  omitted: Readonly<Record<Omission, number>>,
): string[] {
  const reasons: readonly Reason[] = [
    [leftOut.beyondMax, "file", "files", ` beyond the first ${count(limits.maxFiles)}`],
    [leftOut.tooLarge + omitted.tooLarge, "file", "files", ` larger than ${size(limits.maxFileBytes)}`],
    [omitted.binary, "binary file", "binary files", ""],
    [leftOut.skippedFolders, "folder", "folders", ` by name (${skippedFolders.join(", ")})`],
    [leftOut.links, "symbolic link", "symbolic links", ""],
    [leftOut.notFiles, "special file", "special files", ""],
    [leftOut.unreadable + omitted.unreadable, "file or folder", "files or folders", " without access"],
    [leftOut.unnameable, "name", "names", " in another encoding than UTF-8"],
    [omitted.vanished, "file", "files", " that vanished meanwhile"],
  ];
  const phrases = reasons
    .filter(([n]) => n > 0)
    .map(([n, one, many, why]) => `${counted(n, one, many)}${why}`);
  if (leftOut.moreUncounted) phrases.push(`whatever comes after the first ${count(limits.maxNames)} names`);
  return phrases;
}
