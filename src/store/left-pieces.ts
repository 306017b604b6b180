/**
 * Pieces of files are large, and the commit that deletes a task with a large file would take longer than others may wait for it. So a
 * commit deletes some of them, and the rest is deleted afterwards, some at a time, whenever the runtime asks for it.
 * - Nobody sees pieces without their task, whose id is never used again.
 * - What a process leaves when it ends, the next one that opens the store deletes.
 */

import type { StoreChanges } from "./store.ts";

/** How many pieces to delete at a time: some 20 MB. */
export const mostPieces = 64;

/** The number of tasks to look at at a time. */
export const ownersPage = 200;

/** What a store does for it. */
export interface PieceDeletes {
  /** Deletes up to `mostPieces` pieces of these tasks, which have been deleted; resolves with how many. */
  some(ids: readonly string[]): Promise<number>;
  /** Up to `ownersPage` tasks behind this one that have pieces, and whether they exist. */
  owners(after: string): Promise<readonly PieceOwner[]>;
}

export interface PieceOwner {
  readonly id: string;
  readonly exists: boolean;
}

/** Deletes the pieces of files whose tasks have been deleted. */
export class LeftPieces {
  readonly #deletes: PieceDeletes;
  readonly #ids = new Set<string>();
  /** Up to where it has looked for what others have left; undefined once it has looked everywhere. */
  #lookedUpTo: string | undefined = "";

  constructor(deletes: PieceDeletes) {
    this.#deletes = deletes;
  }

  /** These changes were committed. */
  saw(changes: StoreChanges): void {
    if (changes === "gap") return;
    for (const { id, version } of changes) if (version === null) this.#ids.add(id);
  }

  /** Deletes some; resolves with whether more may be left. */
  async deleteSome(): Promise<boolean> {
    if (this.#ids.size === 0 && this.#lookedUpTo !== undefined) {
      const found = await this.#deletes.owners(this.#lookedUpTo);
      for (const { id, exists } of found) if (!exists) this.#ids.add(id);
      this.#lookedUpTo = found.at(-1)?.id;
    }
    const ids = [...this.#ids].slice(0, ownersPage);
    if (ids.length > 0 && (await this.#deletes.some(ids)) < mostPieces)
      for (const id of ids) this.#ids.delete(id);
    return this.#ids.size > 0 || this.#lookedUpTo !== undefined;
  }
}
