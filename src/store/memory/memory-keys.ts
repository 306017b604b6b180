import type { TaskRecord } from "../../task/record.ts";
import type { KeyedTask } from "../store.ts";
import { compareText } from "./memory-lists.ts";
import { SortedSet } from "./sorted-set.ts";

/** The tasks by their idempotency keys. */
export class MemoryKeys {
  readonly #ids = new Map<string, string>();
  /** The keys of the map, in order. */
  readonly #inOrder = new SortedSet<string>(compareText);

  find(principal: string | null, key: string): string | undefined {
    return this.#ids.get(indexOf(principal, key));
  }

  withPrefix(principal: string | null, prefix: string, limit: number): readonly KeyedTask[] {
    const found: KeyedTask[] = [];
    const start = indexOf(principal, prefix);
    for (const index of this.#inOrder.from(start)) {
      if (found.length >= limit || !index.startsWith(start)) break;
      const id = this.#ids.get(index);
      if (id !== undefined) found.push({ id, key: index.slice(indexOf(principal, "").length) });
    }
    return found;
  }

  add({ id, principal, idempotencyKey }: TaskRecord): void {
    if (idempotencyKey === null) return;
    const index = indexOf(principal, idempotencyKey);
    this.#ids.set(index, id);
    this.#inOrder.add(index);
  }

  delete({ principal, idempotencyKey }: TaskRecord): void {
    if (idempotencyKey === null) return;
    const index = indexOf(principal, idempotencyKey);
    this.#ids.delete(index);
    this.#inOrder.delete(index);
  }
}

/** The key comes last, so that keys with the same prefix are adjacent. */
function indexOf(principal: string | null, key: string): string {
  return JSON.stringify(principal ?? "") + key;
}
