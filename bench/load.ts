import { performance } from "node:perf_hooks";
import { Connection } from "./client/connection.ts";
import { inTurn } from "./in-turn.ts";
import type { ServerProcess } from "./server-process.ts";
import { median } from "./statistics.ts";

/** One unit of a client's work: a request and its answer, or the whole life of a task. Rejects on a wrong answer. */
export type Unit = () => Promise<void>;

/** One or several servers, and their clients' work. */
export interface Side {
  readonly servers: readonly ServerProcess[];
  /** Prepares one client on its connection to one of the servers. */
  readonly client: (connection: Connection, url: string) => Promise<Unit>;
}

/** Opens `count` connections, spread over the servers, and runs `work` with their clients' units. */
export function withClients<T>(
  { servers, client }: Side,
  count: number,
  work: (units: readonly Unit[]) => Promise<T>,
): Promise<T> {
  const urls = servers.map(({ url }) => url);
  return Connection.withEach(urls, count, async (all) =>
    work(await Promise.all(all.map(({ connection, url }) => client(connection, url)))),
  );
}

export interface Rates {
  /** Units per second, as medians of all rounds. */
  readonly measured: number;
  readonly reference: number;
  /** The ratio of each round. */
  readonly ratios: readonly number[];
  /** The reference's processor time per unit, divided by the server's, for each round; empty if unknown. */
  readonly cpuRatios: readonly number[];
  /** The load generator's highest use of one core in a round. */
  readonly generatorLoad: number;
}

/** How much work goes into one figure. */
export interface Effort {
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmUpMs: number;
  /** The factor for figures about many tasks or steps. */
  readonly share: number;
}

/** Many short rounds, because other load on the machine changes from second to second. */
export const fullEffort: Effort = { rounds: 11, roundMs: 1_000, warmUpMs: 2_000, share: 1 };
/** Just enough to check that a figure can be measured. */
export const quickEffort: Effort = { rounds: 1, roundMs: 100, warmUpMs: 100, share: 0.01 };

const connections = 50;

interface Round {
  readonly perSecond: number;
  /** The server's processor time per unit, in ms. */
  readonly cpuMs: number | undefined;
  readonly generatorLoad: number;
}

/** Runs each unit over and over, all at the same time, for this long, and waits for the last ones: how many, and how long that took (ms). */
export async function keepBusy(
  units: readonly Unit[],
  ms: number,
): Promise<{ readonly done: number; readonly ms: number; readonly perSecond: number }> {
  const begin = performance.now();
  let done = 0;
  await Promise.all(
    units.map(async (unit) => {
      for (; performance.now() - begin < ms; done++) await unit();
    }),
  );
  const tookMs = performance.now() - begin;
  return { done, ms: tookMs, perSecond: (done / tookMs) * 1_000 };
}

/** Keeps all connections busy for that long. */
function round(side: Side, ms: number): Promise<Round> {
  return withClients(side, connections, async (units) => {
    const cpu = process.cpuUsage();
    const serverCpuMs = cpuMsOf(side);
    const { done, ms: elapsedMs, perSecond } = await keepBusy(units, ms);
    const { user, system } = process.cpuUsage(cpu);
    const spentMs = cpuMsOf(side);
    return {
      perSecond,
      cpuMs: spentMs === undefined || serverCpuMs === undefined ? undefined : (spentMs - serverCpuMs) / done,
      generatorLoad: (user + system) / 1_000 / elapsedMs,
    };
  });
}

/** The sum for all its servers. */
function cpuMsOf({ servers }: Side): number | undefined {
  const each = servers.map((server) => server.cpuMs());
  return each.reduce((sum, ms) => (sum === undefined || ms === undefined ? undefined : sum + ms), 0);
}

export async function compare(
  subject: Side,
  reference: Side,
  { rounds, roundMs, warmUpMs }: Effort,
): Promise<Rates> {
  await round(subject, warmUpMs);
  await round(reference, warmUpMs);
  const pairs = await inTurn(
    () => round(subject, roundMs),
    () => round(reference, roundMs),
    rounds,
  );
  return {
    measured: median(pairs.map((pair) => pair.subject.perSecond)),
    reference: median(pairs.map((pair) => pair.reference.perSecond)),
    ratios: pairs.map((pair) => pair.subject.perSecond / pair.reference.perSecond),
    cpuRatios: pairs.flatMap((pair) => {
      const [spent = 0, referenceSpent = 0] = [pair.subject.cpuMs, pair.reference.cpuMs];
      return spent === 0 || referenceSpent === 0 ? [] : [referenceSpent / spent];
    }),
    generatorLoad: Math.max(
      ...pairs.flatMap((pair) => [pair.subject.generatorLoad, pair.reference.generatorLoad]),
    ),
  };
}
