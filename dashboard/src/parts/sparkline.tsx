import type { JSX } from "preact";
import { Bars } from "./bars.tsx";

/** A small chart of numbers by minute, and their sum. */
export function Sparkline({
  label,
  numbers,
  kind,
}: {
  readonly label: string;
  readonly numbers: readonly number[];
  /** Decides the colour. */
  readonly kind: string;
}): JSX.Element {
  const sum = numbers.reduce((total, number) => total + number, 0);
  return (
    <figure class={`spark ${kind}`}>
      <figcaption>
        <strong>{sum.toLocaleString()}</strong> {label}
      </figcaption>
      <Bars label={label} numbers={numbers} />
    </figure>
  );
}
