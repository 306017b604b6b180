import { tableOf, text } from "../../options/options.ts";
import { isMimeType } from "../../task/artifact.ts";

class DeclaredArtifactOptions {
  /** The media type. Default `text/plain` for a string, otherwise `application/octet-stream`. */
  readonly mimeType?: string = text('a media type, such as "text/csv"', isMimeType, {});
}

/** Options of `task.artifact`. */
export interface ArtifactOptions extends DeclaredArtifactOptions {}

export const artifactOptions = tableOf<ArtifactOptions>(DeclaredArtifactOptions);

/** The content of an artifact: all of it, or what gives it part by part, such as a stream of Node, of the web, or of `fs`. */
export type ArtifactData = string | Uint8Array | Blob | AsyncIterable<string | Uint8Array>;

/** The same, or a function that returns it, which is not called if the artifact is already stored. */
export type ArtifactSource = ArtifactData | (() => ArtifactData | Promise<ArtifactData>);
