import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip } from "node:zlib";
import { HoldfastError } from "../task/fault.ts";

// A backup is one file: a header line of JSON, the compressed data, and a line with the SHA-256 of everything before it. A cut or changed
// backup is detected before any of it is used.

/** The header of a backup. */
export interface BackupHeader {
  readonly store: "sqlite" | "postgres";
  /** The version of the store's schema. */
  readonly schema: number;
  readonly tasks: number;
  /** When the backup began (ISO 8601). */
  readonly at: string;
  /** Identifies the backed-up store among others of its kind. */
  readonly original: Readonly<Record<string, string>>;
}

/** The backup that was made. */
export interface MadeBackup {
  readonly tasks: number;
  /** The size of the file. */
  readonly bytes: number;
}

export interface BackupSetup {
  /** Epoch ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

export interface RestoreSetup {
  /** Whether the new store may be opened while others have the original open. */
  readonly beside: boolean;
  readonly signal: AbortSignal;
}

const format = 1;
/** The digest in hexadecimal, and its line end. */
const trailerBytes = 65;
const longestHeader = 64 * 1024;
const newline = 10;

/**
 * Writes a backup that only its owner may read, and syncs it; resolves with its size. Never overwrites a file, and removes the file of a
 * backup that fails or is aborted.
 */
export async function writeBackup(
  file: string,
  header: BackupHeader,
  data: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): Promise<number> {
  const handle = await create(file);
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    const put = async (chunk: Uint8Array): Promise<void> => {
      hash.update(chunk);
      bytes += chunk.length;
      await handle.writeFile(chunk).catch((error: unknown) => {
        throw unwritable(file, error);
      });
    };
    await put(Buffer.from(`${JSON.stringify({ holdfast: "backup", format, ...header })}\n`));
    // Servers keep working: the best compression would use a processor for too long.
    const gzip = createGzip({ level: constants.Z_BEST_SPEED });
    const writeAll = async (zipped: AsyncIterable<Uint8Array>): Promise<void> => {
      for await (const chunk of zipped) await put(chunk);
    };
    await pipeline(data, gzip, writeAll, { signal });
    await put(Buffer.from(`${hash.copy().digest("hex")}\n`));
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

/** A complete backup. */
export interface Backup {
  readonly header: BackupHeader;
  /** Its uncompressed data. */
  data(): Readable;
}

/** Reads a backup to its end and verifies its checksum. Rejects with `store_unusable` for a file that is no backup, or was cut or changed. */
export async function openBackup(file: string): Promise<Backup> {
  const handle = await openExisting(file);
  try {
    const { header, start } = await headerOf(handle, file);
    const { size } = await handle.stat();
    const end = size - trailerBytes;
    if (end < start) throw damaged(file);
    const hash = createHash("sha256");
    await pipeline(createReadStream(file, { end: end - 1 }), hash, { end: false });
    const trailer = Buffer.alloc(trailerBytes);
    await handle.read(trailer, 0, trailerBytes, end);
    if (trailer.toString("latin1") !== `${hash.digest("hex")}\n`) throw damaged(file);
    return { header, data: () => unzipped(file, start, end) };
  } finally {
    await handle.close();
  }
}

function unzipped(file: string, start: number, end: number): Readable {
  const gunzip = createGunzip();
  const source = createReadStream(file, { start, end: end - 1 });
  source.on("error", (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}

async function headerOf(
  handle: FileHandle,
  file: string,
): Promise<{ readonly header: BackupHeader; readonly start: number }> {
  const first = Buffer.alloc(longestHeader);
  const { bytesRead } = await readAt(handle, first, file);
  const end = first.subarray(0, bytesRead).indexOf(newline);
  const header = end === -1 ? undefined : parsed(first.toString("utf8", 0, end));
  if (header === undefined) throw new HoldfastError("store_unusable", `${file} is not a backup of a store.`);
  if (header.format !== format)
    throw new HoldfastError(
      "store_unusable",
      `${file} has format ${String(header.format)}, which this version of Holdfast cannot read. Use the version that wrote it, or a newer one.`,
    );
  return { header, start: end + 1 };
}

/** A folder can be opened, but not read. */
async function readAt(
  handle: FileHandle,
  into: Buffer,
  file: string,
): Promise<{ readonly bytesRead: number }> {
  try {
    return await handle.read(into, 0, into.length, 0);
  } catch (error) {
    throw new HoldfastError("configuration", `${file} cannot be read: ${textOf(error)}.`, { cause: error });
  }
}

/** Undefined if this is no header. The checksum covers everything else. */
function parsed(line: string): (BackupHeader & { readonly format: unknown }) | undefined {
  try {
    const header: unknown = JSON.parse(line);
    return isHeader(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is BackupHeader & { readonly format: unknown } {
  return (
    typeof value === "object" &&
    value !== null &&
    "holdfast" in value &&
    value.holdfast === "backup" &&
    "format" in value
  );
}

function damaged(file: string): HoldfastError {
  return new HoldfastError(
    "store_unusable",
    `${file} was truncated or changed: its checksum does not match. Nothing was restored.`,
  );
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

/** Also for a full disk: that is the backup's disk, not the store's. */
export function unwritable(file: string, error: unknown): HoldfastError {
  return new HoldfastError("configuration", `${file} cannot be written: ${textOf(error)}.`, { cause: error });
}

async function openExisting(file: string): Promise<FileHandle> {
  try {
    return await open(file, "r");
  } catch (error) {
    throw new HoldfastError("configuration", `${file} cannot be read: ${textOf(error)}.`, { cause: error });
  }
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

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
