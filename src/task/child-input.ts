/** Identifies a task's question on the root of its tree. */
export interface ChildInput {
  /** The task that asks. */
  readonly taskId: string;
  /** The question's key there. */
  readonly key: string;
}

/** The prefix of such keys, which the root's own questions do not have. */
const reserved = "holdfast/call";

/** The key of a question on the root. */
export function childInputKey({ taskId, key }: ChildInput): string {
  return JSON.stringify([reserved, taskId, key]);
}

/** The question behind a key on the root; undefined for one of the root's own. */
export function childInputOf(rootKey: string): ChildInput | undefined {
  if (!rootKey.startsWith(`["${reserved}",`)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(rootKey);
  } catch {
    return undefined; // the key can be anything that a client sends
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const taskId: unknown = parts[1];
  const key: unknown = parts[2];
  return typeof taskId === "string" && typeof key === "string" ? { taskId, key } : undefined;
}
