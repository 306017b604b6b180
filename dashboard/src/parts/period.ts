/** A page's period: its name in the URL, its minutes, and its label. */
export const periods = [
  ["15m", 15, "15 min"],
  ["1h", 60, "1 h"],
  ["6h", 360, "6 h"],
] as const;

export type Period = (typeof periods)[number][0];

const usual: Period = "1h";

export function periodIn(query: URLSearchParams): { readonly period: Period; readonly minutes: number } {
  const asked = query.get("period") ?? usual;
  const [period, minutes] = periods.find(([name]) => name === asked) ?? [usual, 60];
  return { period, minutes };
}

/** The query of a page with another period, otherwise unchanged. */
export function withPeriod(query: URLSearchParams, period: Period): string {
  const changed = new URLSearchParams(query);
  if (period === usual) changed.delete("period");
  else changed.set("period", period);
  return changed.size === 0 ? "" : `?${changed.toString()}`;
}
