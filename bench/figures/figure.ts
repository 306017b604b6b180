import type { Effort } from "../load.ts";

export interface Measurement {
  readonly measured: number;
  readonly reference?: number;
  /** Of the two in each round; the measured values themselves where there is no reference. */
  readonly ratios: readonly number[];
  /** The reference's processor time for a unit, divided by the server's, of each round. */
  readonly cpuRatios?: readonly number[];
  /** The most of one core that the load generator used in a round. */
  readonly generatorLoad?: number;
  /** What else was seen, for a line below the table. */
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
  readonly unit: "/s" | "ms" | "MiB";
  /** Of the median ratio, or of what was measured itself; left out where the figure only says how it is. */
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number; readonly of?: "measured" };
  /** Rejects when an answer is wrong: then there is no figure. */
  readonly measure: (run: Run) => Promise<Measurement>;
}
