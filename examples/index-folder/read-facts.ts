import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

/** What is stored about a file that was read. */
export interface FileFacts {
  readonly bytes: number;
  readonly words: number;
  readonly sha256: string;
}

/** Why a listed file does not count. This is data and not an error: one file must not end the whole task. */
export type Omission = "binary" | "tooLarge" | "vanished" | "unreadable";

export type ReadResult = FileFacts | { readonly omitted: Omission };

/** Reads a file once: its hash and its number of words, which are what white space separates. */
export async function readFacts(path: string, maxBytes: number): Promise<ReadResult> {
  try {
    const file = await open(path);
    try {
      // It may have grown since it was listed.
      if ((await file.stat()).size > maxBytes) return { omitted: "tooLarge" };
      return factsOf(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { omitted: isGone ? "vanished" : "unreadable" };
  }
}

function factsOf(content: Buffer): ReadResult {
  // As git does it: text has no zero byte near its beginning.
  if (content.subarray(0, 8_000).includes(0)) return { omitted: "binary" };
  return {
    bytes: content.length,
    words: content.toString("utf8").match(/\S+/g)?.length ?? 0,
    sha256: createHash("sha256").update(content).digest("hex"),
  };
}
