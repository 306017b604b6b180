import type { Machine } from "../machine.ts";

/** What was measured of an axis, and where. */
export interface Line {
  readonly machine: Machine;
  readonly settings: { readonly rounds: number; readonly roundMs: number };
  readonly name: string;
  readonly title: string;
  readonly of: string;
  readonly per: string;
  readonly points: readonly Measured[];
}

export interface Measured {
  readonly size: number;
  /** The median of its rounds (µs of processor time). */
  readonly costUs: number;
  /** To the cost at the smallest size, in the same rounds: the median. */
  readonly ratio: number;
}

const [width, height, left, right, top, bottom] = [560, 280, 64, 20, 40, 48];
const short = new Intl.NumberFormat("en-US", { notation: "compact" });

/** A chart of the cost against the size, both by powers of ten. */
export function chart({ title, of, per, points }: Line): string {
  const logs = points.map(({ size, costUs }) => ({
    x: Math.log10(size),
    y: Math.log10(costUs),
    size,
    costUs,
  }));
  const [first, last] = [Math.min(...logs.map(({ x }) => x)), Math.max(...logs.map(({ x }) => x))];
  const low = Math.floor(Math.min(...logs.map(({ y }) => y)));
  const high = Math.max(low + 1, Math.ceil(Math.max(...logs.map(({ y }) => y))));
  const xOf = (x: number): number => left + ((x - first) / (last - first || 1)) * (width - left - right);
  const yOf = (y: number): number => height - bottom - ((y - low) / (high - low)) * (height - top - bottom);
  const at = (value: number): string => value.toFixed(1);
  const rows = Array.from({ length: high - low + 1 }, (_, n) => low + n).map(
    (power) =>
      `<path d="M${left} ${at(yOf(power))}H${width - right}" class="rule"/>` +
      `<text x="${left - 8}" y="${at(yOf(power) + 4)}" class="end">${short.format(10 ** power)} µs</text>`,
  );
  const dots = logs.map(
    ({ x, y, size, costUs }) =>
      `<circle cx="${at(xOf(x))}" cy="${at(yOf(y))}" r="4"><title>${size} ${of}: ${costUs.toFixed(1)} µs</title></circle>` +
      `<text x="${at(xOf(x))}" y="${height - bottom + 18}" class="mid">${short.format(size)}</text>`,
  );
  const path = logs.map(({ x, y }, n) => `${n === 0 ? "M" : "L"}${at(xOf(x))} ${at(yOf(y))}`).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}: processor time per ${per}">
<style>text{font:12px sans-serif;fill:#57606a}.end{text-anchor:end}.mid{text-anchor:middle}.rule{stroke:#8c959f;stroke-opacity:.35}.line{fill:none;stroke:#0969da;stroke-width:2}circle{fill:#0969da}</style>
<text x="${left}" y="20">${title}: processor time per ${per}</text>
${rows.join("\n")}
<path d="${path}" class="line"/>
${dots.join("\n")}
<text x="${(left + width - right) / 2}" y="${height - 10}" class="mid">${of}</text>
</svg>
`;
}
