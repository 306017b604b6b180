import type { Measurement } from "../../figures/figure.ts";
import { median } from "../../statistics.ts";
import { cpuMsBelow } from "../cpu-below.ts";
import { compare, inFlight } from "../in-flight.ts";
import { NodeProcess, type NodeSettings } from "../node-process.ts";
import { withSchemas } from "../place.ts";
import type { PostgresFigure, PostgresRun } from "./figure.ts";

const title = `whole lives of tasks, ${inFlight} at a time`;

/** Several nodes on one database, each with its own load. */
export function severalNodes(count: number): PostgresFigure {
  return {
    name: `nodes-${count}`,
    title: `${title} on each of ${count} nodes, in total`,
    against: "one node",
    unit: "/s",
    measure: (run) =>
      measure(
        run,
        Array.from({ length: count }, () => ({})),
      ),
  };
}

export const apart: PostgresFigure = {
  name: "apart",
  title: `${title}, created by a process that only serves and run by one that only works`,
  against: "one node",
  unit: "/s",
  measure: (run) => measure(run, [{ roles: ["serve"] }, { roles: ["work"] }]),
};

type Roles = Pick<NodeSettings, "roles">;

async function measure({ place, effort }: PostgresRun, each: readonly Roles[]): Promise<Measurement> {
  return withSchemas(place, async (freshName) => {
    await using group = await NodeGroup.start(place.url, freshName(), each);
    await using one = await NodeGroup.start(place.url, freshName(), [{}]);
    const shares: number[] = [];
    const costs: number[] = [];
    const measured = async (ms: number): Promise<number> => {
      const before = cpuMsBelow(place.pid);
      const { perSecond, cpuMs } = await group.work(ms);
      const spent = cpuMsBelow(place.pid) - before;
      costs.push((spent / ms / perSecond) * 1_000_000);
      shares.push(spent / (spent + cpuMs));
      return perSecond;
    };
    const found = await compare(measured, async (ms) => (await one.work(ms)).perSecond, effort);
    const cost = median(costs);
    if (Number.isNaN(cost)) return found;
    const share = Math.round(median(shares) * 100);
    const remark = `each task cost Postgres ${Math.round(cost)} µs of CPU time, ${share}% of the total`;
    return { ...found, remark };
  });
}

class NodeGroup implements AsyncDisposable {
  readonly #nodes: readonly NodeProcess[];

  private constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes;
  }

  static async start(url: string, schema: string, each: readonly Roles[]): Promise<NodeGroup> {
    const started: NodeProcess[] = [];
    // One after another: the first one creates the schema.
    for (const roles of each) started.push(await NodeProcess.start({ url, schema, ...roles }));
    return new NodeGroup(started);
  }

  async work(ms: number): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
    const done = await Promise.all(this.#nodes.map((node) => node.work(ms)));
    const sum = (of: (one: (typeof done)[number]) => number): number =>
      done.reduce((total, one) => total + of(one), 0);
    return { perSecond: sum((one) => one.perSecond), cpuMs: sum((one) => one.cpuMs) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}
