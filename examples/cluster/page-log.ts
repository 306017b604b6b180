import { readFileSync } from "node:fs";
import type { PageEvent } from "./cluster-setup.ts";

/** Everything that the nodes noted, in order. */
export function loadPageLog(file: string): PageEvent[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const lines = text.split("\n").slice(0, -1); // what comes after the last line break is not written to its end
  return lines.map((line) => JSON.parse(line) as PageEvent);
}

export const pageName = ({ book, page }: Pick<PageEvent, "book" | "page">): string => `${book}.${page}`;
