/** Reads the artifacts of tasks, for whoever may see the task. */

import type { TaskStore } from "../store/store.ts";
import type { Artifact, StoredArtifact } from "../task/artifact.ts";
import { HoldfastError } from "../task/fault.ts";
import type { JournalEnd, JournalHead } from "../task/journal.ts";

/** A part of an artifact. */
export interface ArtifactPart {
  readonly artifact: Artifact;
  /** Where the part begins. */
  readonly from: number;
  readonly data: Buffer;
}

const entriesPerPage = 500;

type Reads = Pick<TaskStore, "journal" | "journalEnds" | "journalEntry" | "pieces">;

/** The artifacts of a task that have ended, in the order of their ends. */
export async function artifactsOf(store: Reads, id: string): Promise<readonly Artifact[]> {
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
    (head) => artifactIn({ value: null, error: null, ...head, ...ends.get(head.key) }) ?? [],
  );
}

/** The artifact of this name; undefined if there is none, or it has not ended. */
export async function artifactNamed(store: Reads, id: string, name: string): Promise<Artifact | undefined> {
  const entry = await store.journalEntry(id, name);
  return entry?.kind === "artifact" ? artifactIn(entry) : undefined;
}

function artifactIn({ key: name, value, doneAt }: JournalHead & JournalEnd): Artifact | undefined {
  if (value === null || doneAt === null) return undefined;
  return { ...(JSON.parse(value) as StoredArtifact), name, at: doneAt };
}

/** At most so many of its bytes from `from` on; none where it has ended before. Rejects with `task_unreadable`. */
export async function readArtifact(
  store: Reads,
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
    const body = await store.pieces?.read(id, name, seq);
    const piece = body === undefined ? undefined : Buffer.from(body, "base64");
    const whole = Math.min(pieceBytes, bytes - seq * pieceBytes);
    if (piece?.length !== whole)
      throw new HoldfastError(
        "task_unreadable",
        `Task ${id} cannot be read: a piece of its artifact ${JSON.stringify(name)} is missing or damaged.`,
      );
    at += piece.copy(data, at - from, at - seq * pieceBytes, Math.min(whole, end - seq * pieceBytes));
  }
  return { artifact, from, data };
}
