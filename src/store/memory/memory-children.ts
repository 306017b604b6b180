import type { TaskRecord } from "../../task/record.ts";

/** The tasks that other tasks made, by their parents. */
export class MemoryChildren {
  readonly #ofParent = new Map<string, Set<string>>();
  readonly #ofRoot = new Map<string, Set<string>>();

  add({ id, parent }: TaskRecord): void {
    if (parent === null) return;
    put(this.#ofParent, parent.id, id);
    put(this.#ofRoot, parent.root, id);
  }

  delete({ id, parent }: TaskRecord): void {
    if (parent === null) return;
    drop(this.#ofParent, parent.id, id);
    drop(this.#ofRoot, parent.root, id);
  }

  of(parent: string): Iterable<string> {
    return this.#ofParent.get(parent) ?? [];
  }

  below(root: string): Iterable<string> {
    return this.#ofRoot.get(root) ?? [];
  }
}

function put(sets: Map<string, Set<string>>, name: string, id: string): void {
  sets.set(name, (sets.get(name) ?? new Set()).add(id));
}

function drop(sets: Map<string, Set<string>>, name: string, id: string): void {
  const set = sets.get(name);
  set?.delete(id);
  if (set?.size === 0) sets.delete(name);
}
