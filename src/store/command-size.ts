/** The members of a command's members are the deepest that can be large: arguments, outcomes, answers. */
const depth = 3;

/** About how many bytes the texts of a command take: enough to tell a large one from a small one. */
export function commandSize(value: unknown, level = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || level === depth) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + commandSize(member, level + 1), 0);
}
