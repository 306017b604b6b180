/**
 * The pieces of a store's artifacts. The command `write_piece` stores them, and they are deleted with their task.
 */
export interface ArtifactPieces {
  /** A piece in base64 of the artifact under this key of the journal; undefined if there is none. */
  read(id: string, key: string, seq: number): Promise<string | undefined>;
}
