import type { JSX } from "preact";
import { atMost, barsPath } from "./bar-shape.ts";

const height = 28;
/** More bars cannot be told apart in a small chart. */
const mostBars = 60;

/** Numbers by minute, or by another time, as bars. Screen readers get the sum. */
export function Bars({
  label,
  numbers,
  per = "a minute",
}: {
  readonly label: string;
  readonly numbers: readonly number[];
  readonly per?: string;
}): JSX.Element {
  const bars = atMost(mostBars, numbers);
  const sum = numbers.reduce((total, number) => total + number, 0);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${Math.max(1, bars.length) * 3} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${sum} ${label}, at most ${Math.max(0, ...numbers)} in ${per}`}
    >
      <path d={barsPath(bars, height)} />
    </svg>
  );
}
