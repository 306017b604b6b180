/** Large texts (arguments, outcomes, answers) are at most this deep in a command. */
const depth = 3;

/** The approximate size of a command's texts in bytes: enough to tell large commands from small ones. */
export function commandSize(value: unknown, level = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || level === depth) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + commandSize(member, level + 1), 0);
}
