import { isJsonObject } from "../../generation/message.ts";
import { artifactUri } from "../../task/artifact.ts";
import { replyError, type Reply } from "../reply/reply.ts";
import { sendWithRetries } from "../reply/retry.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { ClientClock } from "../clock.ts";
import type { Trouble } from "../task/failures.ts";

/** A file that a task has made. */
export interface TaskArtifact {
  readonly name: string;
  /** For `saveArtifact`. */
  readonly uri: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
  /** When it was complete, in ISO 8601. */
  readonly at: string;
}

export interface ArtifactLister {
  readonly clock: ClientClock;
  /** The text of a resource. */
  readonly readText: (uri: string, signal: AbortSignal) => Promise<Reply<string>>;
  readonly onTrouble: (trouble: Trouble | null) => void;
}

/** The artifacts of a task that are complete, however long the server does not answer. */
export async function listArtifacts(
  taskId: string,
  { clock, readText, onTrouble }: ArtifactLister,
  signal: AbortSignal,
): Promise<readonly TaskArtifact[]> {
  const uri = artifactUri(taskId);
  const reply = await sendWithRetries(() => readText(uri, signal), clock, signal, { onPause: onTrouble });
  if (reply.kind !== "value") throw replyError(reply, taskId);
  return reply.value
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => artifactIn(line));
}

function artifactIn(line: string): TaskArtifact {
  try {
    const read: unknown = JSON.parse(line);
    if (isArtifact(read)) return read;
  } catch {
    // It is no artifact.
  }
  throw new TaskClientError("protocol", `The server sent an invalid artifact: ${line.slice(0, 200)}`);
}

function isArtifact(read: unknown): read is TaskArtifact {
  if (!isJsonObject(read) || !Number.isSafeInteger(read["bytes"])) return false;
  return ["name", "uri", "mimeType", "sha256", "at"].every((member) => typeof read[member] === "string");
}
