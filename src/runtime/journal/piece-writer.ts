import type { StoredBlob } from "../../task/artifact.ts";
import type { ArtifactBlobs } from "../blobs/artifact-blobs.ts";
import type { HeldCommand } from "./held-command.ts";

/**
 * Their base64 is a text that V8 keeps among small objects, also once it is encrypted. Larger texts outlive a collection of these, which lets
 * the space for them grow up to many times its size.
 */
const pieceBytes = 48 * 1024;

/** One commit is worth several. */
const piecesAtOnce = 2;

/** Takes the pieces of an artifact in their order. */
export interface PieceWriter {
  /** All but the last have so many bytes. */
  readonly pieceBytes: number;
  /** How many may be written at a time, once the first one is written: that one removes those of earlier attempts. */
  readonly atOnce: number;
  /** Where they are, unless they are in the store. */
  readonly blob?: StoredBlob;
  /** Does not need `data` any more once it has returned. */
  write(data: Buffer): Promise<void>;
}

/** What a writer needs of the held task. */
export interface PieceTask {
  readonly id: string;
  writePiece(piece: HeldCommand<"write_piece">): Promise<void>;
  persist<T>(ask: () => Promise<T>): Promise<T>;
}

export function piecesInStore(task: PieceTask, key: string): PieceWriter {
  let seq = 0;
  const write = (data: Buffer): Promise<void> =>
    task.writePiece({ key, seq: seq++, body: data.toString("base64") });
  return { pieceBytes, atOnce: piecesAtOnce, write };
}

/** The store has an empty piece instead, which opens the entry of the artifact. */
export function piecesInBlobs(task: PieceTask, key: string, blobs: ArtifactBlobs): PieceWriter {
  const blob = blobs.begin();
  let seq = 0;
  return {
    pieceBytes: blobs.pieceBytes,
    atOnce: 1,
    blob,
    async write(data) {
      const place = seq++;
      const sealed = blobs.seal(blob, place, data);
      if (place === 0) await task.writePiece({ key, seq: 0, body: "" });
      await task.persist(() => blobs.put(task.id, blob, place, sealed));
    },
  };
}
