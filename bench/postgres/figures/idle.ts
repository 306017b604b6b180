import { join } from "node:path";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { compareTimes } from "../in-flight.ts";
import { NodeProcess } from "../node-process.ts";
import { withSchemas } from "../place.ts";
import { TaskNode } from "../task-node.ts";
import type { PostgresFigure } from "./figure.ts";

const goal = { atMost: 25, of: "measured" } as const;

export const idle: PostgresFigure = {
  name: "idle",
  title: "from a call until its task has ended and is read, one at a time; p99",
  against: "on SQLite",
  unit: "ms",
  goal,
  measure: ({ place, effort, folder }) =>
    withSchemas(place, async (freshName) => {
      await using node = await TaskNode.start(postgresStore(place.url, { schema: freshName() }));
      await using local = await TaskNode.start(sqliteStore(join(folder, "idle.db")));
      return await compareTimes(
        () => node.life(),
        () => local.life(),
        effort,
      );
    }),
};

export const idleApart: PostgresFigure = {
  name: "idle-apart",
  title: "the same, created by a process that only serves and run by one that only works; p99",
  against: "one process",
  unit: "ms",
  goal,
  measure: ({ place, effort }) =>
    withSchemas(place, async (freshName) => {
      const schema = freshName();
      await using serving = await TaskNode.start(postgresStore(place.url, { schema }), { roles: ["serve"] });
      await using _ = await NodeProcess.start({ url: place.url, schema, roles: ["work"] });
      await using node = await TaskNode.start(postgresStore(place.url, { schema: freshName() }));
      return await compareTimes(
        () => serving.life(),
        () => node.life(),
        effort,
      );
    }),
};
