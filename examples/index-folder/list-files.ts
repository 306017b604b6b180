import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

/** The limits of a listing, so that no folder is too big for it. */
export interface ListLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  /** Names that are looked at; a folder with more is not even counted to its end. */
  readonly maxNames: number;
}

export const defaultLimits: ListLimits = { maxFiles: 2_000, maxFileBytes: 1024 * 1024, maxNames: 200_000 };

export const skippedFolders: readonly string[] = ["node_modules", ".git", "dist", ".holdfast"];

/** How much was left out, by reason. */
export interface LeftOut {
  beyondMax: number;
  tooLarge: number;
  links: number;
  notFiles: number;
  skippedFolders: number;
  unreadable: number;
  /** Names that are not UTF-8 and thus cannot be told apart as text. */
  unnameable: number;
  /** The walk ended at `maxNames`: how much more there is is unknown. */
  moreUncounted: boolean;
}

/** A folder's files as a step can journal them; paths are relative, with slashes. */
export interface Listing {
  readonly root: string;
  readonly limits: ListLimits;
  readonly files: readonly string[];
  readonly leftOut: Readonly<LeftOut>;
}

export interface ListOptions {
  readonly limits: ListLimits;
  /** Real paths; whatever begins with one of them is passed over, as the server's own. */
  readonly keepOut: readonly string[];
  readonly signal: AbortSignal;
}

/** Lists a folder in the order of its names; throws, in words for a user, where there is no folder. */
export async function listFiles(folder: string, options: ListOptions): Promise<Listing> {
  const root = await rootOf(folder);
  const walk = new Walk(root, options);
  await walk.enter("");
  return { root, limits: options.limits, files: walk.files, leftOut: walk.leftOut };
}

async function rootOf(folder: string): Promise<string> {
  const path = resolve(folder);
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) throw new Error(`There is no folder ${path}.`);
  if (!stats.isDirectory()) throw new Error(`${path} is no folder.`);
  return realpath(path);
}

class Walk {
  readonly files: string[] = [];
  readonly leftOut: LeftOut = {
    beyondMax: 0,
    tooLarge: 0,
    links: 0,
    notFiles: 0,
    skippedFolders: 0,
    unreadable: 0,
    unnameable: 0,
    moreUncounted: false,
  };
  readonly #root: string;
  readonly #options: ListOptions;
  #names = 0;

  constructor(root: string, options: ListOptions) {
    this.#root = root;
    this.#options = options;
  }

  async enter(folder: string): Promise<void> {
    this.#options.signal.throwIfAborted();
    const entries = await readdir(join(this.#root, folder), { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) {
      this.leftOut.unreadable++;
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (++this.#names > this.#options.limits.maxNames) {
        this.leftOut.moreUncounted = true;
        return;
      }
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (this.#isKeptOut(path)) continue;
      if (entry.name.includes("\uFFFD")) this.leftOut.unnameable++;
      else if (entry.isSymbolicLink()) this.leftOut.links++;
      else if (entry.isFile()) await this.#addFile(path);
      else if (!entry.isDirectory()) this.leftOut.notFiles++;
      else if (skippedFolders.includes(entry.name)) this.leftOut.skippedFolders++;
      else await this.enter(path);
    }
  }

  async #addFile(path: string): Promise<void> {
    const { maxFiles, maxFileBytes } = this.#options.limits;
    if (this.files.length >= maxFiles) {
      this.leftOut.beyondMax++;
      return;
    }
    const stats = await lstat(join(this.#root, path)).catch(() => undefined);
    if (stats === undefined) this.leftOut.unreadable++;
    else if (stats.size > maxFileBytes) this.leftOut.tooLarge++;
    else this.files.push(path);
  }

  #isKeptOut(path: string): boolean {
    const absolute = join(this.#root, path);
    return this.#options.keepOut.some((start) => absolute.startsWith(start));
  }
}
