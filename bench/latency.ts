import { performance } from "node:perf_hooks";
import { inTurn } from "./in-turn.ts";
import { withClients, type Effort, type Side } from "./load.ts";
import { median, percentile } from "./statistics.ts";

/** A round ends after this many units or, with a slow server, after this time. */
export interface LatencyRound {
  readonly connections: number;
  readonly units: number;
  readonly ms: number;
}

/** A busy Node accepts about one connection per turn of its event loop, which is not to be measured. */
const warmedAtATime = 50;

/** How long each unit takes, in ms. Each connection runs one unit after another. */
export function latencies(side: Side, round: LatencyRound): Promise<number[]> {
  return withClients(side, round.connections, async (units) => {
    for (let n = 0; n < units.length; n += warmedAtATime) {
      await Promise.all(units.slice(n, n + warmedAtATime).map((unit) => unit()));
    }
    const found: number[] = [];
    const end = performance.now() + round.ms;
    let left = round.units;
    await Promise.all(
      units.map(async (unit) => {
        for (let begin = performance.now(); begin < end && left-- > 0; begin = performance.now()) {
          await unit();
          found.push(performance.now() - begin);
        }
      }),
    );
    return found;
  });
}

export interface Tails {
  /** The p99 in ms, as medians of all rounds. */
  readonly measured: number;
  readonly reference: number;
  /** The ratio of each round. */
  readonly ratios: readonly number[];
}

/** The p99 of both, measured in turn. */
export async function compareTails(
  subject: Side,
  reference: Side,
  round: LatencyRound,
  { rounds, warmUpMs }: Effort,
): Promise<Tails> {
  const tail = async (side: Side): Promise<number> => percentile(await latencies(side, round), 0.99);
  for (const side of [subject, reference]) await latencies(side, { ...round, ms: warmUpMs });
  const pairs = await inTurn(
    () => tail(subject),
    () => tail(reference),
    rounds,
  );
  return {
    measured: median(pairs.map((pair) => pair.subject)),
    reference: median(pairs.map((pair) => pair.reference)),
    ratios: pairs.map((pair) => pair.subject / pair.reference),
  };
}
