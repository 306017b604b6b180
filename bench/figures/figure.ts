import type { Effort } from "../load.ts";

export interface Measurement {
  readonly measured: number;
  readonly reference?: number;
  /** The ratio in each round; the measured values themselves without a reference. */
  readonly ratios: readonly number[];
  /** The reference's processor time per unit, divided by the server's, for each round. */
  readonly cpuRatios?: readonly number[];
  /** The load generator's highest use of one core in a round. */
  readonly generatorLoad?: number;
  /** Processor time of the database for each unit (µs). */
  readonly databaseUs?: number;
  /** Another observation, for a line below the table. */
  readonly remark?: string;
}

export interface Run {
  /** For databases. */
  readonly folder: string;
  readonly effort: Effort;
}

export interface Figure {
  /** For the command line. */
  readonly name: string;
  readonly title: string;
  readonly against: string;
  readonly unit: "/s" | "ms" | "MiB" | "KB" | "%";
  /** For the median ratio, that of processor time, or the measured value; left out if the figure has no goal. */
  readonly goal?:
    { readonly atLeast: number; readonly of?: "cpu" } | { readonly atMost: number; readonly of?: "measured" };
  /** Rejects if an answer is wrong: there is then no figure. */
  readonly measure: (run: Run) => Promise<Measurement>;
}
