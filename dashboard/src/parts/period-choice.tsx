import type { JSX } from "preact";
import { useServices } from "../api/services.ts";
import { navigate } from "../routing/location.ts";
import { periodIn, periods, withPeriod } from "./period.ts";

/** The choice of a page's period, which its URL keeps. */
export function PeriodChoice({
  path,
  query,
}: {
  readonly path: string;
  readonly query: URLSearchParams;
}): JSX.Element {
  const { base } = useServices();
  const { period } = periodIn(query);
  return (
    <div class="periods" role="group" aria-label="Period">
      {periods.map(([name, , text]) => (
        <button
          key={name}
          type="button"
          class="state"
          aria-pressed={name === period}
          onClick={() => navigate(`${base}${path}${withPeriod(query, name)}`)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
