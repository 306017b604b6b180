/** The number of a tool's tasks in a queue. */
export interface QueueLength {
  readonly tool: string;
  /** `ready`: they can be claimed. `parked`: they wait for a time, an answer or an event. */
  readonly state: "ready" | "parked";
  readonly tasks: number;
  /** Since when the first ready task is ready (epoch ms); null for parked ones. */
  readonly since: number | null;
}

/** One length for each tool and state. A store may have a queue for each of its owners. */
export function summedByTool(lengths: Iterable<QueueLength>): readonly QueueLength[] {
  const summed = new Map<string, QueueLength>();
  for (const length of lengths) {
    const { tool, state, tasks, since } = length;
    const key = `${state} ${tool}`;
    const before = summed.get(key);
    const first = Math.min(before?.since ?? Infinity, since ?? Infinity);
    summed.set(key, {
      tool,
      state,
      tasks: (before?.tasks ?? 0) + tasks,
      since: first === Infinity ? null : first,
    });
  }
  return [...summed.values()];
}
