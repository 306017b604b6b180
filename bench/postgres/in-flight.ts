import { performance } from "node:perf_hooks";
import type { Measurement } from "../figures/figure.ts";
import { inTurn } from "../in-turn.ts";
import { keepBusy, type Effort, type Unit } from "../load.ts";
import { median, percentile } from "../statistics.ts";
import { cpuMsBelow } from "../process-tree.ts";
import type { PostgresRun } from "./figures/figure.ts";

export const inFlight = 50;

/** The same unit, so many times at a time. */
export const unitsIn = (unit: Unit, ms: number, most = inFlight): ReturnType<typeof keepBusy> =>
  keepBusy(
    Array.from({ length: most }, () => unit),
    ms,
  );

/** How long each unit takes, in ms, one after another for this long. */
export async function timesOf(unit: Unit, ms: number): Promise<readonly number[]> {
  const found: number[] = [];
  const end = performance.now() + ms;
  for (let begin = performance.now(); begin < end; begin = performance.now()) {
    await unit();
    found.push(performance.now() - begin);
  }
  return found;
}

/** The rates of both, measured in turn, and the processor time per unit of this process and the database together. */
export async function compareRates(
  subject: Unit,
  reference: Unit,
  { place, effort }: Pick<PostgresRun, "place" | "effort">,
): Promise<Measurement> {
  const costs = { subject: [] as number[], reference: [] as number[] };
  const measured = async (unit: Unit, of: number[], ms: number): Promise<number> => {
    const spent = (): number =>
      process.cpuUsage().user + process.cpuUsage().system + cpuMsBelow(place.pid) * 1_000;
    const before = spent();
    const { perSecond: rate } = await unitsIn(unit, ms);
    of.push((spent() - before) / rate);
    return rate;
  };
  const found = await compare(
    (ms) => measured(subject, costs.subject, ms),
    (ms) => measured(reference, costs.reference, ms),
    effort,
  );
  // The first of each belongs to the warm-up.
  const cpuRatios = costs.subject.map((cost, n) => (costs.reference[n] ?? 0) / cost).slice(1);
  return { ...found, cpuRatios: cpuRatios.filter((ratio) => !Number.isNaN(ratio)) };
}

/** The p99 of both, measured in turn. */
export async function compareTimes(subject: Unit, reference: Unit, effort: Effort): Promise<Measurement> {
  const tail = async (unit: Unit, ms: number): Promise<number> => percentile(await timesOf(unit, ms), 0.99);
  return compare(
    (ms) => tail(subject, ms),
    (ms) => tail(reference, ms),
    effort,
  );
}

export async function compare(
  subject: (ms: number) => Promise<number>,
  reference: (ms: number) => Promise<number>,
  { rounds, roundMs, warmUpMs }: Effort,
): Promise<Measurement> {
  await subject(warmUpMs);
  await reference(warmUpMs);
  const pairs = await inTurn(
    () => subject(roundMs),
    () => reference(roundMs),
    rounds,
  );
  return {
    measured: median(pairs.map((pair) => pair.subject)),
    reference: median(pairs.map((pair) => pair.reference)),
    ratios: pairs.map((pair) => pair.subject / pair.reference),
  };
}
