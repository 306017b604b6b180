import type { ResourceLink } from "@modelcontextprotocol/server";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { assertArtifactName } from "../../task/artifact.ts";
import type { Clock } from "../clock.ts";
import { artifactEnd, linkTo, writeArtifact, type ArtifactEnd } from "../execution/store-artifact.ts";
import type { Run } from "../journal/run.ts";
import type { Launched } from "./launched.ts";
import { fileOf, type OutputStream } from "./output.ts";

interface Saved {
  readonly stream: OutputStream;
  readonly name: string;
  /** Whether an earlier run has not begun it. */
  readonly isNew: boolean;
  /** How it has ended; undefined for one that was never stored. */
  end: Promise<ArtifactEnd> | undefined;
}

/**
 * The outputs of a program that are kept as artifacts of its task.
 * - They are stored when the program has ended for the last time, and before its step has: until then its files are there, and whichever run
 *   finds them stores what is missing.
 * - Each names its step, since a retry of the task has neither its bytes nor the files: there the program runs again.
 */
export class SavedOutput {
  readonly #run: Run;
  readonly #clock: Clock;
  readonly #step: string;
  readonly #all: readonly Saved[];

  /** Claims their names. */
  constructor(run: Run, clock: Clock, step: string, names: Readonly<Partial<Record<OutputStream, string>>>) {
    this.#run = run;
    this.#clock = clock;
    this.#step = step;
    this.#all = (Object.entries(names) as [OutputStream, string][]).map(([stream, given]) => {
      assertArtifactName(given);
      const name = run.claim(given);
      const entry = run.find(name, { kind: "artifact", request: given });
      const isOver = entry !== undefined && entry.doneAt !== null;
      const end = isOver ? run.replayed(entry, artifactEnd) : undefined;
      end?.catch(() => undefined); // the step may end with an error of its own
      return { stream, name, isNew: entry === undefined, end };
    });
  }

  /** Await it before the program runs. Rejects if the task can have no artifacts, or no more of them. */
  async begin(): Promise<void> {
    for (const { end, isNew, name } of this.#all) {
      if (end !== undefined) continue;
      this.#run.countArtifact();
      await this.#run.begin(isNew);
      this.#run.pieces(name);
    }
  }

  /** Stores what is not stored yet. Rejects as `writeArtifact`. */
  async store({ folder }: Pick<Launched, "folder">): Promise<void> {
    for (const saved of this.#all) {
      if (saved.end !== undefined) continue;
      const { name, stream } = saved;
      const artifact = {
        key: name,
        pieces: this.#run.pieces(name),
        mimeType: "text/plain",
        step: this.#step,
      };
      const source = (): AsyncIterable<Uint8Array> => createReadStream(join(folder, fileOf[stream]));
      saved.end = Promise.resolve(await writeArtifact(this.#run, this.#clock, artifact, source));
    }
  }

  /** Links to those that were stored. Rejects with why one could not be. */
  async links(): Promise<readonly ResourceLink[]> {
    const links: ResourceLink[] = [];
    for (const { name, end } of this.#all) {
      const ended = await end;
      if (ended === undefined) continue;
      if ("thrown" in ended) throw ended.thrown;
      links.push(linkTo(this.#run, name, ended.stored));
    }
    return links;
  }
}
