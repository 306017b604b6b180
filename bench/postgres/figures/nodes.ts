import type { Measurement } from "../../figures/figure.ts";
import { median } from "../../statistics.ts";
import { cpuMsBelow } from "../../process-tree.ts";
import { compare, inFlight } from "../in-flight.ts";
import { NodeGroup, type NodeSettings } from "../node-process.ts";
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
    const { url } = place;
    const [schema, other] = [freshName(), freshName()];
    await using group = await NodeGroup.start(each.map((roles) => ({ url, schema, ...roles })));
    await using one = await NodeGroup.start([{ url, schema: other }]);
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
    const databaseUs = median(costs);
    if (Number.isNaN(databaseUs)) return found;
    const remark = `Postgres took ${Math.round(median(shares) * 100)}% of the processor time of all`;
    return { ...found, databaseUs, remark };
  });
}
