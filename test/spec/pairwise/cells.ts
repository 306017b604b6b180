// Two rules at once: a suite in this folder tries its rules in every combination, and says why some combinations cannot be.

/** The values that each rule can take. */
export type Dimensions = Readonly<Record<string, readonly string[]>>;

/** One value of each. */
export type Cell<D extends Dimensions> = { readonly [Name in keyof D]: D[Name][number] };

/** Cells that cannot be: those whose values are all among the named ones. */
export interface Impossible<D extends Dimensions> {
  readonly where: { readonly [Name in keyof D]?: readonly D[Name][number][] };
  /** What rules them out, in the protocol or by what a side can do. */
  readonly reason: string;
}

/** Every cell that can be, for `it.each`. Fails if a reason rules out no cell, or a cell is ruled out by two. */
export function cells<const D extends Dimensions>(
  dimensions: D,
  impossible: readonly Impossible<D>[],
): Cell<D>[] {
  let all: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(dimensions)) {
    all = all.flatMap((cell) => values.map((value) => ({ ...cell, [name]: value })));
  }
  const unused = new Set(impossible);
  const possible = all.filter((cell) => {
    const reasons = impossible.filter(({ where }) =>
      Object.entries<readonly string[] | undefined>(where).every(([name, values]) =>
        values?.includes(cell[name] ?? ""),
      ),
    );
    for (const one of reasons) unused.delete(one);
    if (reasons.length > 1) throw new Error(`Two reasons rule out ${JSON.stringify(cell)}`);
    return reasons.length === 0;
  });
  for (const { reason } of unused) throw new Error(`Rules out no cell: ${reason}`);
  return possible as Cell<D>[];
}
