import { rename } from "node:fs/promises";
import { replaceFile } from "../../runtime/replace-file.ts";
import { retryWhileInUse } from "./retry-while-in-use.ts";

/** As `replaceFile`, and on Windows again while others have the file open. */
export function writeAtomically(path: string, text: string): Promise<void> {
  return replaceFile(path, text, (from, to) => retryWhileInUse(() => rename(from, to)));
}
