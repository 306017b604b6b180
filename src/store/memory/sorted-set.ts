/** Entries per chunk. Inserting or removing an entry copies a chunk, so chunks stay small. */
const chunkSize = 256;

/** An ordered set, as a list of sorted chunks: no operation walks or moves all entries. */
export class SortedSet<T> {
  readonly #compare: (a: T, b: T) => number;
  #chunks: T[][] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  add(entry: T): void {
    const chunkIndex = Math.min(this.#chunkFor(entry), Math.max(0, this.#chunks.length - 1));
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) {
      this.#chunks.push([entry]);
      return;
    }
    const index = this.#lowerBound(chunk, entry);
    if (this.#equals(chunk[index], entry)) return;
    chunk.splice(index, 0, entry);
    if (chunk.length > chunkSize) {
      // New entries mostly come last: a full chunk stays full, and the next one starts almost empty.
      const keep = index === chunk.length - 1 ? chunkSize : chunkSize / 2;
      this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(keep));
    }
  }

  delete(entry: T): void {
    const chunkIndex = this.#chunkFor(entry);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) return;
    const index = this.#lowerBound(chunk, entry);
    if (!this.#equals(chunk[index], entry)) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /** The entries in order, from the first that is not below `start`. The set must not change during the iteration. */
  *from(start: T): Generator<T, void, undefined> {
    let chunkIndex = this.#chunkFor(start);
    const first = this.#chunks[chunkIndex];
    let index = first === undefined ? 0 : this.#lowerBound(first, start);
    for (let chunk = first; chunk !== undefined; chunk = this.#chunks[++chunkIndex]) {
      for (; index < chunk.length; index++) {
        const entry = chunk[index];
        if (entry !== undefined) yield entry;
      }
      index = 0;
    }
  }

  /** The entries below `end` (null: all), last to first. The set must not change during the iteration. */
  *below(end: T | null): Generator<T, void, undefined> {
    const last = this.#chunks.length - 1;
    const chunkFor = end === null ? last : Math.min(this.#chunkFor(end), last);
    for (let chunkIndex = chunkFor; chunkIndex >= 0; chunkIndex--) {
      const chunk = this.#chunks[chunkIndex] ?? [];
      const length = end === null ? chunk.length : this.#lowerBound(chunk, end);
      for (let index = length - 1; index >= 0; index--) {
        const entry = chunk[index];
        if (entry !== undefined) yield entry;
      }
    }
  }

  first(): T | undefined {
    return this.#chunks[0]?.[0];
  }

  /** The first chunk whose last entry is not below `entry`. */
  #chunkFor(entry: T): number {
    return partition(this.#chunks.length, (index) => {
      const last = this.#chunks[index]?.at(-1);
      return last !== undefined && this.#compare(last, entry) < 0;
    });
  }

  #lowerBound(chunk: readonly T[], entry: T): number {
    return partition(chunk.length, (index) => {
      const other = chunk[index];
      return other !== undefined && this.#compare(other, entry) < 0;
    });
  }

  #equals(found: T | undefined, entry: T): boolean {
    return found !== undefined && this.#compare(found, entry) === 0;
  }
}

/** The first of `length` positions that is not below; all that are below come first. */
function partition(length: number, isBelow: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
