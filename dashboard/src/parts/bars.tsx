import type { JSX } from "preact";
import { atMost, barsPath } from "./bar-shape.ts";

const height = 28;
/** More bars cannot be told apart in a small chart. */
const mostBars = 60;

/** Numbers by minute as bars. Screen readers get the sum. */
export function Bars({
  label,
  numbers,
}: {
  readonly label: string;
  readonly numbers: readonly number[];
}): JSX.Element {
  const bars = atMost(mostBars, numbers);
  const sum = numbers.reduce((total, number) => total + number, 0);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${Math.max(1, bars.length) * 3} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${sum} ${label}, at most ${Math.max(0, ...numbers)} in a minute`}
    >
      <path d={barsPath(bars, height)} />
    </svg>
  );
}
