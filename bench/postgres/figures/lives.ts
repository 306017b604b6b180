import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { compareRates, inFlight } from "../in-flight.ts";
import { withSchemas } from "../place.ts";
import { PlainQueue } from "../plain-queue.ts";
import { TaskNode } from "../task-node.ts";
import type { PostgresFigure } from "./figure.ts";

export const lives: PostgresFigure = {
  name: "lives",
  title: `whole lives of tasks, ${inFlight} at a time: created, run, ended, read`,
  against: "jobs of graphile-worker, added and run one by one",
  unit: "/s",
  goal: { atLeast: 5 },
  measure: (run) =>
    withSchemas(run.place, async (freshName) => {
      await using node = await TaskNode.start(postgresStore(run.place.url, { schema: freshName() }));
      await using queue = await PlainQueue.start(run.place.url, freshName());
      return await compareRates(
        () => node.life(),
        () => queue.life(),
        run,
      );
    }),
};
