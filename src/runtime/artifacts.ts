/** Reads the artifacts of tasks, for whoever may see the task. */

import type { ReserveMemory, TaskStore } from "../store/store.ts";
import type { Artifact, StoredArtifact } from "../task/artifact.ts";
import { HoldfastError } from "../task/fault.ts";
import { isSealed } from "../task/stored-text.ts";
import { boundGarbage } from "./bound-garbage.ts";
import type { ArtifactBlobs } from "./blobs/artifact-blobs.ts";
import type { JournalEnd, JournalHead } from "../task/journal.ts";

/** A part that a caller asks for. */
export interface ArtifactRange {
  readonly name: string;
  readonly from: number;
  /** At most so many bytes, and not more than `maxBodyBytes`; null: all of them. */
  readonly bytes: number | null;
  /** More than 64 KiB are read only after this has resolved; the read rejects as it does. */
  readonly reserve?: ReserveMemory | undefined;
}

/** A part of an artifact. */
export interface ArtifactPart {
  readonly artifact: Artifact;
  /** Where the part begins. */
  readonly from: number;
  readonly data: Buffer;
}

const entriesPerPage = 500;

/** As of outcomes, so many are read without asking for memory. */
const unreservedBytes = 64 * 1024;

type Journals = Pick<TaskStore, "journal" | "journalEnds" | "journalEntry">;

/** Where the bytes of artifacts are. */
export interface ArtifactReads {
  readonly store: Pick<TaskStore, "pieces">;
  readonly blobs?: ArtifactBlobs | undefined;
}

/** The artifacts of a task that have ended, in the order of their ends. Rejects with `task_unreadable` without the keys of the store. */
export async function artifactsOf(store: Journals, id: string): Promise<readonly Artifact[]> {
  const ended: JournalHead[] = [];
  for (let from: string | null = ""; from !== null;) {
    const page = await store.journal(id, from, entriesPerPage);
    ended.push(...page.entries.filter(({ kind, doneAt }) => kind === "artifact" && doneAt !== null));
    from = page.next;
  }
  ended.sort((a, b) => (a.doneVersion ?? 0) - (b.doneVersion ?? 0));
  const keys = ended.map(({ key }) => key);
  const ends = new Map((await store.journalEnds(id, keys)).map((end) => [end.key, end]));
  return ended.flatMap(
    (head) => artifactIn(id, { value: null, error: null, ...head, ...ends.get(head.key) }) ?? [],
  );
}

/** The artifact of this name; undefined if there is none, or it has not ended. Rejects as `artifactsOf`. */
export async function artifactNamed(
  store: Journals,
  id: string,
  name: string,
): Promise<Artifact | undefined> {
  const entry = await store.journalEntry(id, name);
  return entry?.kind === "artifact" ? artifactIn(id, entry) : undefined;
}

function artifactIn(
  id: string,
  { key: name, value, doneAt }: JournalHead & JournalEnd,
): Artifact | undefined {
  if (value === null || doneAt === null) return undefined;
  if (isSealed(value))
    throw new HoldfastError(
      "task_unreadable",
      `The files of task ${id} are encrypted. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store.`,
    );
  return { ...(JSON.parse(value) as StoredArtifact), name, at: doneAt };
}

/** A part of an artifact as a caller asks for it; undefined if the task has none of this name. */
export async function readRange(
  { store, blobs }: ArtifactReads & { readonly store: Journals },
  id: string,
  { name, from, bytes, reserve }: ArtifactRange,
  maxBodyBytes: number,
): Promise<ArtifactPart | undefined> {
  const artifact = await artifactNamed(store, id, name);
  if (artifact === undefined) return undefined;
  if (bytes === null && artifact.bytes - from > maxBodyBytes)
    throw new HoldfastError(
      "invalid_params",
      `Artifact ${JSON.stringify(name)} has ${artifact.bytes} bytes, and one read gives at most ${maxBodyBytes}. Read it in parts: add ?from=0&bytes=${maxBodyBytes} to its URI.`,
    );
  const most = Math.min(bytes ?? maxBodyBytes, maxBodyBytes);
  const size = Math.min(most, artifact.bytes - from);
  if (size > unreservedBytes) await reserve?.(size);
  return readArtifact({ store, blobs }, id, artifact, from, most);
}

/**
 * At most so many of its bytes from `from` on; none where it has ended before. Rejects with `task_unreadable`, and with `configuration` if it
 * is in blobs, and this process has none.
 */
export async function readArtifact(
  reads: ArtifactReads,
  id: string,
  artifact: Artifact,
  from: number,
  most: number,
): Promise<ArtifactPart> {
  const { name, bytes, pieceBytes } = artifact;
  const end = Math.max(from, Math.min(bytes, from + most));
  const data = Buffer.allocUnsafe(end - from);
  for (let at = from; at < end;) {
    const seq = Math.floor(at / pieceBytes);
    const whole = Math.min(pieceBytes, bytes - seq * pieceBytes);
    const begin = at - seq * pieceBytes;
    const wanted = Math.min(whole, end - seq * pieceBytes) - begin;
    // A whole piece is decoded into its place: a copy would be garbage.
    const place = data.subarray(at - from, at - from + wanted);
    const piece = wanted === whole ? place : Buffer.allocUnsafe(whole);
    if (!(await readPiece(reads, id, artifact, seq, piece)))
      throw new HoldfastError(
        "task_unreadable",
        `Task ${id} cannot be read: a piece of its artifact ${JSON.stringify(name)} is missing or damaged.`,
      );
    if (piece !== place) piece.copy(place, 0, begin);
    at += wanted;
  }
  boundGarbage(data.length);
  return { artifact, from, data };
}

/** False if it does not have just the bytes that `into` has room for. */
async function readPiece(
  { store, blobs }: ArtifactReads,
  id: string,
  { name, blob }: Artifact,
  seq: number,
  into: Buffer,
): Promise<boolean> {
  if (blob === undefined) {
    const body = (await store.pieces?.read(id, name, seq)) ?? "";
    return Buffer.byteLength(body, "base64") === into.length && into.write(body, "base64") === into.length;
  }
  if (blobs === undefined)
    throw new HoldfastError(
      "configuration",
      `Artifact ${JSON.stringify(name)} of task ${id} is not in the store, but in the blobs of its server. Read it through that server, or give this one the same blobs: createTasks({ store, blobs }).`,
    );
  const piece = await blobs.get(id, blob, seq);
  return piece?.length === into.length && piece.copy(into) === into.length;
}
