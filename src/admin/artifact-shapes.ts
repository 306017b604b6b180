import { countUpTo, described, member, membersOf, optional, shown, text, time, whole } from "./shape.ts";

class DeclaredStoredFile {
  readonly name = member(text);
  readonly mimeType = member(text);
  /** Its size. */
  readonly bytes = member(whole);
  /** In hexadecimal. */
  readonly sha256 = member(text);
  /** When it was complete (epoch ms). */
  readonly at = member(time);
}

/** A file that a task has made (`task.artifact`). */
export interface StoredFile extends DeclaredStoredFile {}

export const storedFile = shown<StoredFile>("StoredFile", DeclaredStoredFile);

class DeclaredFilePart extends DeclaredStoredFile {
  /** Where the part begins. */
  readonly from = member(whole);
  /** Base64. */
  readonly data = member(text);
}

/** A part of such a file. */
export interface FilePart extends DeclaredFilePart {}

export const filePart = shown<FilePart>("FilePart", DeclaredFilePart);

/** The most bytes of one part. */
const mostBytes = 1024 * 1024;

class DeclaredFileQuery {
  /** Where the part begins. Default 0. */
  readonly from? = optional(described(whole, "Where the part begins."));
  /** Maximum number of bytes, from 1 to 1 MiB. Default 1 MiB. */
  readonly bytes? = optional(countUpTo(mostBytes, mostBytes, "The maximum number of bytes."));
}

export interface FileQuery extends DeclaredFileQuery {}

export const fileQuery = membersOf<FileQuery>(DeclaredFileQuery);
