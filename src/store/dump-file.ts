/**
 * The file of a dump: gzip of lines, each an object of JSON: a header, what the store has, and an end with the counts.
 * - Each line ends with a checksum of itself and of all lines before it, so a change, a cut or a moved line is found at its line.
 * - The end has the SHA-256 of all that is before it. Nothing follows it.
 * - Lines are written and read one at a time: neither side needs memory for a whole store.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, crc32, createGunzip, createGzip } from "node:zlib";
import { HoldfastError } from "../task/fault.ts";

/** The first line. */
export interface DumpHeader {
  /** The random id of the dump. */
  readonly id: string;
  /** The dump after which this one has only what changed; null if it has everything. */
  readonly since: string | null;
  /** When it began (ISO 8601). */
  readonly at: string;
  readonly store: "sqlite" | "postgres";
  /** Changes whenever everything in the store was sealed anew; null in clear. */
  readonly sealed: string | null;
  /** Identifies the dumped store among others of its kind. */
  readonly original: Readonly<Record<string, string>>;
}

/** One member, which names what the line has. */
export type DumpLine = Readonly<Record<string, unknown>>;

/** A line, by its number in the file. */
export interface NumberedLine {
  readonly number: number;
  readonly name: string;
  readonly value: unknown;
}

const format = 1;
const longestHeader = 64 * 1024;
/** A longer one does not fit into a string. */
const longestLine = 500 * 1024 * 1024;
/** `,"sum":"01234567"}` */
const sumLength = 18;
const newline = 10;
/** About how many bytes are compressed at a time. */
const chunkBytes = 64 * 1024;

/**
 * Writes a dump that only its owner may read, and syncs it; resolves with its size. Never overwrites a file, and removes the file of a dump
 * that fails or is aborted.
 */
export async function writeDump(
  file: string,
  header: DumpHeader,
  lines: AsyncIterable<DumpLine>,
  signal: AbortSignal,
): Promise<number> {
  const handle = await create(file);
  try {
    let bytes = 0;
    const writeAll = async (zipped: AsyncIterable<Uint8Array>): Promise<void> => {
      for await (const chunk of zipped) {
        bytes += chunk.length;
        await handle.writeFile(chunk).catch((error: unknown) => {
          throw unwritable(file, error);
        });
      }
    };
    // Servers keep working: the best compression would use a processor for too long.
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    await pipeline(textOf(header, lines), gzip, writeAll, { signal });
    await handle.sync().catch((error: unknown) => {
      throw unwritable(file, error);
    });
    await handle.close();
    await syncFolder(dirname(file));
    return bytes;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(file, { force: true });
    throw error;
  }
}

async function* textOf(header: DumpHeader, lines: AsyncIterable<DumpLine>): AsyncGenerator<string> {
  const hash = createHash("sha256");
  let sum = 0;
  let written = 0;
  const summed = (line: DumpLine): string => {
    const body = JSON.stringify(line).slice(0, -1);
    sum = crc32(body, sum);
    const text = `${body},"sum":"${hex(sum)}"}\n`;
    hash.update(text);
    written++;
    return text;
  };
  let chunk = summed({ header: { holdfast: "dump", format, ...header } });
  for await (const line of lines) {
    chunk += summed(line);
    if (chunk.length < chunkBytes) continue;
    yield chunk;
    chunk = "";
  }
  const end = { lines: written, sha256: hash.copy().digest("hex") };
  yield chunk + summed({ end });
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, "0");
}

/** Reads the first line. Rejects with `configuration` if the file cannot be read, and with `store_unusable` if it is no dump. */
export async function headerOf(file: string): Promise<DumpHeader> {
  for await (const { value } of linesOf(file)) return value as DumpHeader;
  throw foreign(file);
}

/**
 * All lines between the header, which comes first, and the end. Throws `store_unusable`, with the number of the line, where the file is damaged
 * or cut, and for a file that is no dump. Whoever does not read all has not checked what is left.
 */
export async function* linesOf(file: string): AsyncGenerator<NumberedLine, void> {
  const hash = createHash("sha256");
  let number = 0;
  let sum = 0;
  let hasEnded = false;
  for await (const text of textsOf(file, () => number)) {
    number++;
    if (hasEnded) throw damaged(file, number, "something follows the end of the dump");
    const bodyEnd = text.length - sumLength;
    sum = bodyEnd > 0 ? crc32(text.subarray(0, bodyEnd), sum) : 0;
    const isWhole = text.subarray(Math.max(0, bodyEnd)).equals(Buffer.from(`,"sum":"${hex(sum)}"}`));
    if (!isWhole) throw number === 1 ? foreign(file) : damaged(file, number);
    const [name, value] = memberOf(text) ?? [];
    if (number === 1) {
      if (name !== "header" || !isHeader(value)) throw foreign(file);
      if (value.format !== format) throw otherFormat(file, value.format);
    } else if (name === undefined || name === "header") throw damaged(file, number);
    if (name === "end") {
      const { lines, sha256 } = value as { readonly lines?: unknown; readonly sha256?: unknown };
      if (lines !== number - 1 || sha256 !== hash.copy().digest("hex")) throw damaged(file, number);
      hasEnded = true;
      continue;
    }
    hash.update(text).update("\n");
    yield { number, name: name ?? "", value };
  }
  if (!hasEnded) throw number === 0 ? foreign(file) : cut(file, number + 1);
}

/** The lines as they are in the file. */
async function* textsOf(file: string, seen: () => number): AsyncGenerator<Buffer> {
  const { size } = await statOf(file);
  const gunzip = createGunzip();
  const source = createReadStream(file);
  source.on("error", (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  let rest: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        const part = chunk.subarray(from, at);
        from = at + 1;
        yield rest.length === 0 ? part : Buffer.concat([...rest, part]);
        rest = [];
        length = 0;
      }
      rest.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > (seen() === 0 ? longestHeader : longestLine)) throw tooLong(file, seen());
    }
  } catch (error) {
    throw unread(file, seen() + 1, error);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
  if (length > 0) throw seen() === 0 ? foreign(file) : cut(file, seen() + 1);
  // What is behind the end of the compressed data is not read.
  if (gunzip.bytesWritten !== size && seen() > 0)
    throw damaged(file, seen() + 1, "something follows the end of the dump");
}

function memberOf(text: Buffer): [string, unknown] | undefined {
  try {
    const [member] = Object.entries(JSON.parse(text.toString("utf8")) as object);
    return member;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is DumpHeader & { readonly format: unknown } {
  return typeof value === "object" && value !== null && "holdfast" in value && value.holdfast === "dump";
}

async function statOf(file: string): Promise<{ readonly size: number }> {
  try {
    const stats = await stat(file);
    if (stats.isFile()) return stats;
  } catch (error) {
    throw unreadable(file, error);
  }
  throw new HoldfastError("configuration", `${file} cannot be read: it is not a file.`);
}

function unread(file: string, line: number, error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const code = codeOf(error);
  if (code === "Z_BUF_ERROR") return line === 1 ? foreign(file) : cut(file, line);
  if (typeof code === "string" && code.startsWith("Z_"))
    return line === 1 ? foreign(file) : damaged(file, line);
  return unreadable(file, error);
}

export function foreign(file: string): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `${file} is not a dump of a store, or is damaged at its beginning: its line 1 is not the header of a dump.`,
  );
}

function otherFormat(file: string, found: unknown): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `${file} has format ${String(found)} (line 1), which this version of Holdfast cannot read. Use the version that wrote it, or a newer one.`,
  );
}

/** For a line that is not as it was written. Nothing of the file has been used. */
export function damaged(file: string, line: number, why = "it does not match its checksum"): HoldfastError {
  return new HoldfastError("store_unusable", `${file} is damaged at line ${line}: ${why}.`);
}

function tooLong(file: string, lines: number): HoldfastError {
  return lines === 0 ? foreign(file) : damaged(file, lines + 1, "the line is too long");
}

function cut(file: string, line: number): HoldfastError {
  return new HoldfastError("store_unusable", `${file} was cut at line ${line}: its end is missing.`);
}

async function create(file: string): Promise<FileHandle> {
  try {
    return await open(file, "wx", 0o600);
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw new HoldfastError("configuration", `${file} already exists. Choose another name.`);
    throw unwritable(file, error);
  }
}

/** Also for a full disk: that is the dump's disk, not the store's. */
function unwritable(file: string, error: unknown): HoldfastError {
  return new HoldfastError("configuration", `${file} cannot be written: ${messageOf(error)}.`, {
    cause: error,
  });
}

function unreadable(file: string, error: unknown): HoldfastError {
  return new HoldfastError("configuration", `${file} cannot be read: ${messageOf(error)}.`, { cause: error });
}

/** Otherwise a new file's name may be lost with the power. Windows opens no folders. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // There is no other way.
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
