import { type Counts, openCounts, type ToolCounts } from "../../../src/admin/admin.ts";

export type CountName = NonNullable<ToolCounts["estimated"]>[number];

/**
 * The sum of a count over tools, of all that were counted: an estimate is rounded. Exact counts end at `most`: those of ended tasks for each tool,
 * those of unfinished ones for all together.
 */
export function countText(
  { most, tools: all }: Counts,
  tools: readonly ToolCounts[],
  name: CountName,
): string {
  const sum = sumOf(tools, [name]);
  if (tools.some(({ estimated = [] }) => estimated.includes(name)))
    return `≈ ${sum.toLocaleString(undefined, { maximumSignificantDigits: 2 })}`;
  const isOpen = openCounts.some((open) => open === name);
  const isCut = isOpen ? sum > 0 && sumOf(all, openCounts) >= most : tools.some((tool) => tool[name] >= most);
  return `${sum.toLocaleString()}${isCut ? "+" : ""}`;
}

function sumOf(tools: readonly ToolCounts[], names: readonly CountName[]): number {
  return tools.reduce((total, tool) => names.reduce((sum, name) => sum + tool[name], total), 0);
}
