/**
 * The pieces of a store's artifacts. The command `write_piece` stores them, and they are deleted with their task.
 */
export interface ArtifactPieces {
  /** A piece in base64 of the artifact under this key of the journal; undefined if there is none. */
  read(id: string, key: string, seq: number): Promise<string | undefined>;
  /**
   * Deletes some of the pieces that deleted tasks have left, as much as a commit should take; resolves with whether there may be more. Left out
   * by a store that deletes all of a task at once.
   */
  deleteLeft?(): Promise<boolean>;
}
