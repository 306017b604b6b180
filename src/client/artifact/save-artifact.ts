import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm, stat, type FileHandle } from "node:fs/promises";
import type { ReadResourceResult } from "@modelcontextprotocol/client";
import { artifactMeta, artifactPartUri, artifactResourceAt } from "../../generation/extensions.ts";
import { isJsonObject, metaOf } from "../../generation/message.ts";
import { boundGarbage } from "../../runtime/bound-garbage.ts";
import type { ClientClock } from "../clock.ts";
import { readReply, replyError, Violation, type Reply } from "../reply/reply.ts";
import { sendWithRetries, type Trouble } from "../reply/retry.ts";
import { TaskClientError } from "../task-client-error.ts";
import { arrivingPart, PartBytes } from "./part-bytes.ts";

/** A file that was saved. */
export interface SavedArtifact {
  readonly path: string;
  readonly bytes: number;
  /** Left out if the server names none. */
  readonly mimeType?: string;
  /** Of the file, in hexadecimal. */
  readonly sha256: string;
}

export interface ArtifactReader {
  readonly clock: ClientClock;
  readonly readResource: (uri: string, signal: AbortSignal) => Promise<Reply<ReadResourceResult>>;
  readonly onTrouble: (trouble: Trouble | null) => void;
  /** Called with the bytes that are saved so far, and those of the whole artifact. */
  readonly onProgress?: ((saved: number, size: number) => void) | undefined;
}

interface Part {
  readonly data: Buffer;
  readonly mimeType: string | undefined;
  readonly size: number;
  readonly sha256: string;
}

/** As many bytes as are asked for at a time; a server may send fewer. */
const partBytes = 1024 * 1024;

/**
 * Saves an artifact of a task part by part, through restarts of its server. Until it is whole and has the hash that the server names, it
 * is in a file beside `path`, from which the next call goes on.
 */
export async function saveArtifact(
  uri: string,
  path: string,
  reader: ArtifactReader,
  signal: AbortSignal,
): Promise<SavedArtifact> {
  const resource = artifactResourceAt(uri);
  if (resource === undefined || resource.name === null || uri.includes("?"))
    throw new TypeError(
      `saveArtifact takes the URI of an artifact, such as task://ID/artifact/report.csv, not ${uri}.`,
    );
  const unfinished = `${path}.part`;
  const before = await sizeOf(unfinished);
  let saved = await saveTo(unfinished, uri, reader, signal);
  if (saved === undefined && before > 0) {
    await rm(unfinished); // it was part of another file
    saved = await saveTo(unfinished, uri, reader, signal);
  }
  if (saved === undefined) {
    await rm(unfinished, { force: true });
    throw new TaskClientError(
      "protocol",
      `What the server sent of ${uri} does not have the hash that it names`,
    );
  }
  await rename(unfinished, path);
  return { path, ...saved };
}

/** Undefined if the file does not become what the server has. */
async function saveTo(
  path: string,
  uri: string,
  reader: ArtifactReader,
  signal: AbortSignal,
): Promise<Omit<SavedArtifact, "path"> | undefined> {
  const file = await open(path, "a");
  try {
    const hash = await hashOf(path);
    let { size: at } = await file.stat();
    const bytes = new PartBytes(partBytes);
    for (;;) {
      const { data, mimeType, size, sha256 } = await partFrom(uri, at, bytes, reader, signal);
      if (at + data.length > size) return undefined;
      await file.appendFile(data);
      hash.update(data);
      boundGarbage(data.length);
      at += data.length;
      reader.onProgress?.(at, size);
      if (at < size && data.length > 0) continue;
      if (at < size || hash.digest("hex") !== sha256) return undefined;
      await file.sync();
      return { bytes: size, ...(mimeType !== undefined && { mimeType }), sha256 };
    }
  } catch (error) {
    await removeIfEmpty(file, path);
    throw error;
  } finally {
    await file.close();
  }
}

async function partFrom(
  uri: string,
  from: number,
  bytes: PartBytes,
  { clock, readResource, onTrouble }: ArtifactReader,
  signal: AbortSignal,
): Promise<Part> {
  const send = async (): Promise<Reply<Part>> => {
    bytes.clear();
    const reply = await arrivingPart.run(bytes, () =>
      readResource(artifactPartUri(uri, from, partBytes), signal),
    );
    return readReply(
      reply,
      (result) =>
        partIn(result, from, bytes.taken) ?? new Violation("The server sent no part of an artifact"),
    );
  };
  const reply = await sendWithRetries(send, clock, signal, { onPause: onTrouble });
  onTrouble(null);
  if (reply.kind !== "value") throw replyError(reply);
  return reply.value;
}

function partIn({ contents }: ReadResourceResult, from: number, taken?: Buffer): Part | undefined {
  const [content] = contents;
  const meta = metaOf(content)[artifactMeta];
  if (content === undefined || !isJsonObject(meta) || meta["from"] !== from) return undefined;
  const { size, sha256 } = meta;
  if (!Number.isSafeInteger(size) || typeof sha256 !== "string") return undefined;
  const data = taken ?? ("blob" in content ? Buffer.from(content.blob, "base64") : Buffer.from(content.text));
  return { data, mimeType: content.mimeType, size: size as number, sha256 };
}

async function hashOf(path: string): Promise<Hash> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash;
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.size ?? 0;
}

/** Nothing was saved: nothing is left. */
async function removeIfEmpty(file: FileHandle, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) await rm(path, { force: true });
}
