import { isLost } from "../../store/lost-store.ts";
import { isUnreadable } from "../../task/fault.ts";
import { isTerminal } from "../../task/outcome.ts";
import { artifactsOf } from "../artifacts.ts";
import type { Services } from "../services.ts";
import type { ArtifactBlobs, NamedBlob } from "./artifact-blobs.ts";

/** An object store asks money for each list. */
const everyMs = 3_600_000;

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
      let ofTask: NamedBlob[] = [];
      for await (const blob of blobs.all()) {
        if (this.#isStopped) return;
        if (ofTask[0]?.task !== blob.task) {
          await this.#tidyUp(blobs, ofTask, tidy);
          ofTask = [];
        }
        ofTask.push(blob);
      }
      await this.#tidyUp(blobs, ofTask, tidy);
      this.#tidy = tidy;
    } catch (error) {
      if (!this.#isStopped && !isLost(error)) this.#services.onError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #tidyUp(blobs: ArtifactBlobs, ofTask: readonly NamedBlob[], tidy: Set<string>): Promise<void> {
    const id = ofTask[0]?.task;
    if (id === undefined) return;
    const { store } = this.#services;
    try {
      const task = await store.get(id);
      if (task !== undefined && !isTerminal(task.state)) return;
      const isKnown = task !== undefined && this.#tidy.has(id);
      const artifacts = task === undefined || isKnown ? [] : await artifactsOf(store, id);
      const named = new Set(artifacts.map(({ blob }) => blob?.id));
      if (!isKnown) for (const blob of ofTask) if (!named.has(blob.id)) await blobs.delete(blob);
      if (task !== undefined) tidy.add(id);
    } catch (error) {
      if (!isUnreadable(error)) throw error; // whether its blobs are wanted, nobody can tell
    }
  }
}
