import { randomUUID } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TaskStore } from "../../store/store.ts";
import { isTerminal } from "../../task/outcome.ts";
import { systemClock, type Clock } from "../clock.ts";
import { forget, lookFor, type FolderNote, type Launched } from "./launched.ts";
import { usualExecFolder } from "./own-environment.ts";
import { endGroup, leads } from "./process-group.ts";

const lookMs = 10_000;

/** How long the files of a process are kept that no handler has taken the result of, and whose task is not of this store. */
const keptMs = 7 * 24 * 3_600_000;

/** How long a folder may be without a note: its server died before the process was in the journal. */
const unnotedMs = 600_000;

const killAfterMs = 5_000;

export interface StartedProcessesSetup {
  /** Left out: a folder of the user. */
  readonly folder: string | undefined;
  readonly store: Pick<TaskStore, "get">;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * The processes that steps have started on this machine, by the folders of their files. Those that no handler here follows are looked at from time to
 * time: where the task has ended, they are ended.
 */
export class StartedProcesses {
  readonly #setup: StartedProcessesSetup;
  readonly #root: string;
  /** The folders of those that a handler follows here, or starts. */
  readonly #followed = new Set<string>();
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(setup: StartedProcessesSetup) {
    this.#setup = setup;
    this.#root = setup.folder ?? usualExecFolder();
  }

  start(): void {
    let looking = this.#look();
    this.#cancelTimer = this.#setup.clock.every(lookMs, () => {
      looking = looking.then(() => this.#look());
    });
  }

  /** Ends the looks. One that is under way asks the store for nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  /** A new place for the files of a process. */
  place(): string {
    return join(this.#root, randomUUID());
  }

  /** While a process is started. */
  async launching<T>(place: Pick<Launched, "folder">, work: () => Promise<T>): Promise<T> {
    this.#followed.add(place.folder);
    try {
      return await work();
    } catch (error) {
      await this.done(place);
      throw error;
    }
  }

  follows({ folder }: Launched): void {
    this.#followed.add(folder);
  }

  leaves({ folder }: Launched): void {
    this.#followed.delete(folder);
  }

  /** Its files are of no more use. */
  async done(launched: Pick<Launched, "folder">): Promise<void> {
    await forget(launched).catch(this.#setup.onError);
    this.#followed.delete(launched.folder);
  }

  async #look(): Promise<void> {
    const names = await readdir(this.#root).catch(() => []);
    for (const name of names) {
      const folder = join(this.#root, name);
      if (this.#isStopped) return;
      if (!this.#followed.has(folder))
        await this.#lookAt(folder).catch((error: unknown) => this.#failed(error));
    }
  }

  async #lookAt(folder: string): Promise<void> {
    const { store } = this.#setup;
    const note = await noteIn(folder);
    if (note === undefined) return this.#removeOld(folder, unnotedMs);
    const found = await lookFor(note);
    if (found === "elsewhere") return;
    if (this.#isStopped) return;
    const task = note.taskId === null ? undefined : await store.get(note.taskId);
    const isOver =
      note.taskId === null ? !(await leads(note.server)) : task !== undefined && isTerminal(task.state);
    if (isOver && !this.#followed.has(folder)) {
      await endGroup(note, killAfterMs);
      await forget({ folder });
    } else if (found !== "runs" && task === undefined) await this.#removeOld(folder, keptMs);
  }

  #failed(error: unknown): void {
    if (!this.#isStopped) this.#setup.onError(error); // otherwise the store was closed
  }

  async #removeOld(folder: string, ms: number): Promise<void> {
    const found = await stat(folder).catch(() => undefined); // another process may have removed it
    if (found !== undefined && systemClock.now() - found.mtimeMs > ms) await forget({ folder });
  }
}

async function noteIn(folder: string): Promise<FolderNote | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, "process.json"), "utf8")) as FolderNote;
  } catch {
    return undefined;
  }
}
