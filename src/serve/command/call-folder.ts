import { createReadStream } from "node:fs";
import { access, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { dirname, extname, join, parse, relative } from "node:path";
import { systemClock } from "../../runtime/clock.ts";
import { usualExecFolder } from "../../runtime/exec/exec-options.ts";

// Beside the files of the programs themselves.
const root = (): string => join(dirname(usualExecFolder()), "calls");

/** How long the folder of a call may be left: longer than any program may take whose task nobody ended. */
const keptMs = 30 * 24 * 3_600_000;

/** A folder for the messages and the files of one call. */
export async function makeCallFolder(): Promise<string> {
  await mkdir(root(), { recursive: true, mode: 0o700 });
  return mkdtemp(join(root(), "call-"));
}

export async function isHere(folder: string): Promise<boolean> {
  return access(folder).then(
    () => true,
    () => false,
  );
}

export async function removeCallFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes what crashes have left long ago. */
export async function removeOldFolders(): Promise<void> {
  for (const name of await readdir(root()).catch(() => [])) {
    const folder = join(root(), name);
    const found = await stat(folder).catch(() => undefined); // another process may have removed it
    if (found !== undefined && systemClock.now() - found.mtimeMs > keptMs) await removeCallFolder(folder);
  }
}

/** Where the program of a call writes the files of its result. */
export function outFolder(folder: string): string {
  return join(folder, "out");
}

/** The files of a result, by their paths below `out`, in their order. */
export async function filesOf(folder: string): Promise<readonly string[]> {
  const out = outFolder(folder);
  const entries = await readdir(out, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(out, join(entry.parentPath, entry.name)))
    .toSorted();
}

const longestName = 180;

/** A name for each file by its path: one that an artifact may have, and that no other file and no other entry of the task's journal has. */
export function artifactNames(files: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(["approval"]);
  const names = new Map<string, string>();
  for (const file of files) {
    // oxlint-disable-next-line no-control-regex
    const { name, ext } = parse(file.replaceAll(/[/\\"\x00-\x1f\x7f]/g, "-"));
    const end = ext.slice(0, longestName / 2);
    const begin = name.slice(0, longestName - end.length);
    let found = begin + end;
    for (let count = 2; taken.has(found); count++) found = `${begin}-${count}${end}`;
    taken.add(found);
    names.set(file, found.toWellFormed());
  }
  return names;
}

export function readFileOf(folder: string, name: string): AsyncIterable<Uint8Array> {
  return createReadStream(join(outFolder(folder), name));
}

/** What people and models most often get as files. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".zip": "application/zip",
};

export function mediaTypeOf(name: string): string {
  return mediaTypes[extname(name).toLowerCase()] ?? "application/octet-stream";
}
