import { basename } from "node:path";
import type { FolderIndex, IndexedFile } from "./folder-index.ts";
import { count, printable, size } from "./wording.ts";

const shown = 10;

/** The report on a folder, in Markdown. */
export function report(index: FolderIndex): string {
  const { root, files, words, bytes, copies, leftOut } = index;
  const largest = files.toSorted((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1)).slice(0, shown);
  return [
    `# Index of ${cell(basename(root) || root)}`,
    "",
    "| files | words | size | copies of other files |",
    "| ---: | ---: | ---: | ---: |",
    `| ${count(files.length)} | ${count(words)} | ${size(bytes)} | ${count(copies)} |`,
    "",
    "## Largest files",
    "",
    ...(largest.length === 0 ? ["None."] : table(largest)),
    "",
    "## Left out",
    "",
    ...(leftOut.length === 0 ? ["Nothing."] : leftOut.map((phrase) => `- ${phrase}`)),
    "",
  ].join("\n");
}

function table(files: readonly IndexedFile[]): string[] {
  return [
    "| size | words | SHA-256 | file |",
    "| ---: | ---: | --- | --- |",
    ...files.map(
      ({ path, bytes, words, sha256 }) =>
        `| ${size(bytes)} | ${count(words)} | ${sha256.slice(0, 12)} | ${cell(path)} |`,
    ),
  ];
}

/** A name that cannot break out of its table, nor be taken for Markdown or HTML. */
function cell(name: string): string {
  // An underscore inside a word stands for itself.
  return printable(name).replace(/[\\`*[\]<>|&~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\$&");
}
