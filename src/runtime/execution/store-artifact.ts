import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { ResourceLink } from "@modelcontextprotocol/server";
import { artifactUri, assertArtifactName, type StoredArtifact } from "../../task/artifact.ts";
import { HoldfastError, isFault, tooLarge } from "../../task/fault.ts";
import type { JournalEnd } from "../../task/journal.ts";
import { assertOptions } from "../../options/options.ts";
import { boundGarbage } from "../bound-garbage.ts";
import type { Clock } from "../clock.ts";
import type { PieceWriter } from "../journal/piece-writer.ts";
import type { Run } from "../journal/run.ts";
import { decodeError, encodeError, parseStored } from "../stored-values.ts";
import {
  artifactOptions,
  type ArtifactData,
  type ArtifactOptions,
  type ArtifactSource,
} from "../tool/handler-return.ts";
import type { Attempt } from "./attempt.ts";

/**
 * Stores what `source` gives as an artifact of the task, piece by piece, and resolves with a link to it; or replays the journal, and then
 * does not read the source. What an attempt has stored before a crash is replaced from the beginning.
 */
export async function storeArtifact(
  { run, services: { clock, counts } }: Attempt,
  name: string,
  source: ArtifactSource,
  options: ArtifactOptions,
): Promise<ResourceLink> {
  assertArtifactName(name);
  assertOptions("task.artifact", options, artifactOptions);
  const mimeType =
    options.mimeType ?? (typeof source === "string" ? "text/plain" : "application/octet-stream");
  const key = run.claim(name);
  const entry = run.find(key, { kind: "artifact", request: name });
  if (entry !== undefined && entry.doneAt !== null) {
    await discard(source);
    return run.replayed(entry, (ended) => linkOrThrow(run, name, artifactEnd(ended)));
  }
  let pieces: PieceWriter;
  try {
    run.countArtifact();
    await run.begin(entry === undefined);
    pieces = run.pieces(key);
  } catch (error) {
    await discard(source);
    throw error;
  }
  const write = (): Promise<ArtifactEnd> => writeArtifact(run, clock, { key, pieces, mimeType }, source);
  const shown = { taskId: run.setup.taskId, key, kind: "artifact", begunAt: clock.now(), tries: 0 } as const;
  const end = await run.working(() => counts?.steps.during(shown, write) ?? write());
  await run.checkpoint();
  return linkOrThrow(run, name, end);
}

/** How an artifact ended: with its bytes in the store, or with an error. */
export type ArtifactEnd = { readonly stored: StoredArtifact } | { readonly thrown: Error };

/** How it ended, as the journal has it. */
export function artifactEnd({ value, error }: JournalEnd): ArtifactEnd {
  if (value === null) return { thrown: decodeError(error ?? "{}") };
  return { stored: parseStored(value) as StoredArtifact };
}

interface NewArtifact extends Pick<StoredArtifact, "mimeType" | "step"> {
  readonly key: string;
  readonly pieces: PieceWriter;
}

/** Stores an artifact that was begun, and journals how that ended. As for a step: an abort is not how it ended, nor is a fault, except that it is too large. */
export async function writeArtifact(
  run: Run,
  clock: Clock,
  { key, pieces, ...kept }: NewArtifact,
  source: ArtifactSource,
): Promise<ArtifactEnd> {
  const begunAt = clock.now();
  try {
    const stored = { ...kept, ...(await writePieces(run, key, pieces, source)) };
    await run.recordStep({ key, value: JSON.stringify(stored), error: null, begunAt, artifact: true });
    return { stored };
  } catch (thrown) {
    const isTooLarge = thrown instanceof HoldfastError && thrown.code === "too_large";
    if (run.signal.aborted || (isFault(thrown) && !isTooLarge)) throw thrown;
    const error = encodeError(thrown, run.setup.maxBodyBytes);
    await run.recordStep({ key, value: null, error, begunAt, artifact: true });
    return { thrown: decodeError(error, thrown) };
  }
}

function linkOrThrow(run: Run, name: string, end: ArtifactEnd): ResourceLink {
  if ("thrown" in end) throw end.thrown;
  return linkTo(run, name, end.stored);
}

export function linkTo(run: Run, name: string, { mimeType, bytes }: StoredArtifact): ResourceLink {
  return { type: "resource_link", uri: artifactUri(run.setup.wireId, name), name, mimeType, size: bytes };
}

/** The next piece is filled while the last one is written. */
async function writePieces(
  run: Run,
  key: string,
  pieces: PieceWriter,
  source: ArtifactSource,
): Promise<Omit<StoredArtifact, "mimeType" | "step">> {
  const { maxArtifactBytes } = run.setup.limits;
  const { pieceBytes, blob } = pieces;
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(pieceBytes);
  let filled = 0;
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await writing;
    boundGarbage(filled);
    writing = pieces.write(piece.subarray(0, filled));
    filled = 0;
    writing.catch(() => undefined); // the next write, or the end, rejects with it
  };
  for await (const chunk of chunksOf(typeof source === "function" ? await source() : source)) {
    run.signal.throwIfAborted();
    const given = bytesOf(chunk);
    bytes += given.length;
    if (bytes > maxArtifactBytes)
      throw tooLarge(`Artifact ${JSON.stringify(key)}`, maxArtifactBytes, "maxArtifactBytes");
    hash.update(given);
    for (let at = 0; at < given.length;) {
      if (filled === pieceBytes) await write();
      const end = Math.min(given.length, at + pieceBytes - filled);
      piece.set(given.subarray(at, end), filled);
      filled += end - at;
      at = end;
    }
  }
  await write(); // an empty artifact has one piece too, which replaces those of earlier attempts
  await writing;
  return { bytes, sha256: hash.digest("hex"), pieceBytes, ...(blob && { blob }) };
}

async function* chunksOf(data: ArtifactData): AsyncGenerator<unknown> {
  if (typeof data === "string" || data instanceof Uint8Array) yield data;
  else if (data instanceof Blob) yield* data.stream();
  else if (
    typeof data === "object" &&
    data !== null &&
    (Symbol.asyncIterator in data || Symbol.iterator in data)
  )
    yield* data;
  else throw notData();
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === "string") return Buffer.from(chunk);
  throw notData();
}

function notData(): TypeError {
  return new TypeError(
    "An artifact is made of text or bytes: pass a string, a Uint8Array, a Blob, or a stream of strings or Uint8Arrays.",
  );
}

/** Nobody reads it: what it holds open is closed. */
async function discard(source: ArtifactSource): Promise<void> {
  if (typeof source !== "object" || source instanceof Uint8Array || source instanceof Blob) return;
  try {
    if (source instanceof ReadableStream) await source.cancel();
    else if (source instanceof Readable) source.destroy();
    else await source[Symbol.asyncIterator]().return?.();
  } catch {
    // It is closed, or somebody else reads it.
  }
}
