/** The cycles that a depth-first walk of `graph` closes, each as the way round from its first name back to it. */
export function findCycles(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];

  const walk = (node: string): void => {
    const start = trail.indexOf(node);
    if (start >= 0) {
      cycles.push(fromFirstName(trail.slice(start)));
      return;
    }
    if (done.has(node)) return;
    trail.push(node);
    for (const next of graph.get(node) ?? []) walk(next);
    trail.pop();
    done.add(node);
  };

  for (const node of graph.keys()) walk(node);
  return cycles;
}

/** One cycle has one form, wherever the walk came upon it. */
function fromFirstName(cycle: readonly string[]): string[] {
  const first = cycle.reduce((best, name, index) => (name < (cycle[best] ?? name) ? index : best), 0);
  return [...cycle.slice(first), ...cycle.slice(0, first + 1)];
}
