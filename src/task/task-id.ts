/**
 * A task id: 12 hexadecimal digits of time, so that new rows are adjacent in the index and ids sort by age, then 128 random bits, so that
 * ids cannot be guessed or enumerated. 34 characters, all URL-safe.
 */
export function taskId(now: number, randomBytes: (size: number) => Uint8Array): string {
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0");
  return time + Buffer.from(randomBytes(16)).toString("base64url");
}

/** Whether an id is impossible to guess. */
export function isTaskId(id: string): boolean {
  return /^[\da-f]{12}[\w-]{22}$/.test(id);
}
