import type { Counts, ToolCounts } from "../../../src/admin/admin.ts";

export type CountName = NonNullable<ToolCounts["estimated"]>[number];

/** The sum of a count over tools: an estimate is rounded, and exact counts end at `most`. */
export function countText(tools: readonly ToolCounts[], name: CountName, most: Counts["most"]): string {
  const sum = tools.reduce((total, tool) => total + tool[name], 0);
  if (tools.some(({ estimated = [] }) => estimated.includes(name)))
    return `≈ ${sum.toLocaleString(undefined, { maximumSignificantDigits: 2 })}`;
  return `${sum.toLocaleString()}${tools.some((tool) => tool[name] >= most) ? "+" : ""}`;
}
