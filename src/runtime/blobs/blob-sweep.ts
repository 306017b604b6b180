import { isLost } from "../../store/lost-store.ts";
import { isUnreadable } from "../../task/fault.ts";
import { isTerminal } from "../../task/outcome.ts";
import { artifactsOf } from "../artifacts.ts";
import type { Services } from "../services.ts";
import type { ArtifactBlobs, NamedBlob } from "./artifact-blobs.ts";

/** An object store asks money for each list. */
const everyMs = 3_600_000;

/** A blob that cannot be deleted keeps none of the others; with so many, nothing can be deleted now. */
const mostFailures = 20;

/**
 * Deletes the blobs of tasks that no longer exist, and those that a crash has left behind, when the process starts and once an hour. Those of
 * a task that has not ended stay: what is being stored is in no journal yet.
 */
export class BlobSweep {
  readonly #services: Services;
  #cancelTimer: () => void = () => undefined;
  #isRunning = false;
  #isStopped = false;
  /** Tasks that have ended, and have no blobs too many: nothing changes that. */
  #tidy = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
  }

  start(): void {
    const { blobs, clock } = this.#services;
    if (blobs === undefined) return;
    this.#cancelTimer = clock.every(everyMs, () => void this.#sweep(blobs));
    void this.#sweep(blobs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  async #sweep(blobs: ArtifactBlobs): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      const tidy = new Set<string>();
      const failures: unknown[] = [];
      let ofTask: NamedBlob[] = [];
      for await (const blob of blobs.all()) {
        if (this.#isStopped) return;
        if (ofTask[0]?.task !== blob.task) {
          await this.#tidyUp(blobs, ofTask, tidy, failures);
          ofTask = [];
        }
        ofTask.push(blob);
      }
      await this.#tidyUp(blobs, ofTask, tidy, failures);
      this.#tidy = tidy;
      if (failures.length > 0) this.#services.onError(failures[0]);
    } catch (error) {
      if (!this.#isStopped && !isLost(error)) this.#services.onError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #tidyUp(
    blobs: ArtifactBlobs,
    ofTask: readonly NamedBlob[],
    tidy: Set<string>,
    failures: unknown[],
  ): Promise<void> {
    const id = ofTask[0]?.task;
    if (id === undefined) return;
    const { store } = this.#services;
    try {
      const task = await store.get(id);
      if (task !== undefined && !isTerminal(task.state)) return;
      const isKnown = task !== undefined && this.#tidy.has(id);
      const artifacts = task === undefined || isKnown ? [] : await artifactsOf(store, id);
      const named = new Set(artifacts.map(({ blob }) => blob?.id));
      const before = failures.length;
      for (const blob of isKnown ? [] : ofTask) {
        if (named.has(blob.id)) continue;
        try {
          await blobs.delete(blob);
        } catch (error) {
          failures.push(error);
          if (failures.length === mostFailures) throw error;
        }
      }
      if (task !== undefined && failures.length === before) tidy.add(id);
    } catch (error) {
      if (!isUnreadable(error)) throw error; // whether its blobs are wanted, nobody can tell
    }
  }
}
