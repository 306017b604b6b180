import type { CommandResult, TaskCommand, TaskCommandName } from "../../task/command.ts";
import type { StoredBlob } from "../../task/artifact.ts";
import type { ArtifactBlobs } from "../blobs/artifact-blobs.ts";

/** Commands that are valid only under the token of a run. */
export type HeldCommandName = {
  [N in TaskCommandName]: TaskCommand<N> extends { readonly token: string } ? N : never;
}[TaskCommandName];

/** Commands that begin entries which others end. */
export type OpeningCommandName = "open_input" | "call_tool" | "wait_event";

export type HeldCommand<N extends HeldCommandName> = Omit<TaskCommand<N>, "type" | "now" | "id" | "token">;

/** Reaches the store for a task as long as its run holds it. */
export interface TaskWriter {
  /** Writes under the token. */
  write<N extends HeldCommandName>(type: N, command: HeldCommand<N>): Promise<CommandResult<N>>;
  /** Repeats a call of the store until it answers. */
  persist<T>(ask: () => Promise<T>): Promise<T>;
}

/** Small enough that several are in memory at a time, and large enough that each is worth a commit. */
const pieceBytes = 256 * 1024;

/** Takes the pieces of an artifact in their order, each once the one before is written. */
export interface PieceWriter {
  /** All but the last have so many bytes. */
  readonly pieceBytes: number;
  /** Where they are, unless they are in the store. */
  readonly blob?: StoredBlob;
  /** Does not need `data` any more once it has returned. */
  write(data: Buffer): Promise<void>;
}

export function piecesInStore(task: TaskWriter, key: string): PieceWriter {
  let seq = 0;
  return {
    pieceBytes,
    async write(data) {
      await task.write("write_piece", { key, seq: seq++, body: data.toString("base64") });
    },
  };
}

/** The store has an empty piece instead, which opens the entry of the artifact. */
export function piecesInBlobs(
  task: TaskWriter,
  taskId: string,
  key: string,
  blobs: ArtifactBlobs,
): PieceWriter {
  const blob = blobs.begin();
  let seq = 0;
  return {
    pieceBytes: blobs.pieceBytes,
    blob,
    async write(data) {
      const place = seq++;
      const sealed = blobs.seal(blob, place, data);
      if (place === 0) await task.write("write_piece", { key, seq: 0, body: "" });
      await task.persist(() => blobs.put(taskId, blob, place, sealed));
    },
  };
}
