/**
 * A file that a handler makes for its task.
 * - Its bytes are stored in pieces, of which all but the last have the same size. They are its own once the journal has its end, and not before.
 * - Its name is its key in the journal, and the last part of its URI.
 */

import { HoldfastError } from "./fault.ts";

/** What the journal has of an artifact that has ended. */
export interface StoredArtifact {
  /** The media type. */
  readonly mimeType: string;
  readonly bytes: number;
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** The size of its pieces. */
  readonly pieceBytes: number;
  /** Left out if its pieces are in the store. */
  readonly blob?: StoredBlob;
  /** The key of the step whose output it is; left out for a file that the handler itself has stored. */
  readonly step?: string;
}

/** What finds the pieces of an artifact among the blobs of a server, and decrypts them. */
export interface StoredBlob {
  readonly id: string;
  /** In base64. */
  readonly key: string;
}

/** An artifact as readers see it. */
export interface Artifact extends StoredArtifact {
  readonly name: string;
  /** When it ended (epoch ms). */
  readonly at: number;
}

const longestName = 200;

const longestType = 255;

const typeForm = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\x20-\x7e]*)?$/;

/** Throws `invalid_params` unless it can be the name of a file everywhere. */
export function assertArtifactName(name: unknown): asserts name is string {
  const isName = typeof name === "string" && name.length > 0 && name.length <= longestName;
  // oxlint-disable-next-line no-control-regex
  if (isName && name.isWellFormed() && !/[/\\\x00-\x1f\x7f]/.test(name) && !/^\.{1,2}$/.test(name)) return;
  throw new HoldfastError(
    "invalid_params",
    `The name of an artifact must be that of a file, such as "report.csv": 1 to ${longestName} characters, without slashes and control characters.`,
  );
}

export function isMimeType(text: string): boolean {
  return text.length <= longestType && typeForm.test(text);
}

/** An artifact in the list of those of a task. */
export function listedArtifact(task: string, artifact: Artifact): Readonly<Record<string, unknown>> {
  const { name, mimeType, bytes, sha256, at } = artifact;
  return { name, uri: artifactUri(task, name), mimeType, bytes, sha256, at: new Date(at).toISOString() };
}

/** The URI of a task's artifact; without a name, that of the list of them. */
export function artifactUri(task: string, name?: string): string {
  const all = `task://${encodeURIComponent(task)}/artifact`;
  return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
}

/** The step whose output a stored artifact is. */
export function stepOfArtifact(value: string): string | undefined {
  return (JSON.parse(value) as StoredArtifact).step;
}
