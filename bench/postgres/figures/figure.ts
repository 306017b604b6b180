import type { Figure, Measurement, Run } from "../../figures/figure.ts";
import type { Place } from "../place.ts";

export interface PostgresRun extends Run {
  readonly place: Place;
}

/** A figure about the store in a database. */
export interface PostgresFigure extends Omit<Figure, "measure"> {
  readonly measure: (run: PostgresRun) => Promise<Measurement>;
}
