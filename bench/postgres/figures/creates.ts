import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { compareRates, inFlight } from "../in-flight.ts";
import { withSchemas } from "../place.ts";
import { TaskNode } from "../task-node.ts";
import type { PostgresFigure } from "./figure.ts";

const waiting = 100_000;

export const creates: PostgresFigure = {
  name: "creates",
  title: `tasks created, ${inFlight} at a time`,
  against: "plain INSERTs of one row",
  unit: "/s",
  goal: { atLeast: 1 },
  measure: (run) =>
    withSchemas(run.place, async (freshName) => {
      const schema = freshName();
      await using node = await TaskNode.start(postgresStore(run.place.url, { schema }), { roles: ["serve"] });
      const pool = new Pool({ connectionString: run.place.url, max: inFlight });
      try {
        const table = `${freshName()}.task`;
        await pool.query(`create schema ${table.split(".")[0]}`);
        await pool.query(
          `create table ${table} (id text primary key, status text not null, params text not null)`,
        );
        const insert = `insert into ${table} values ($1, 'working', '{"a":19,"b":23}')`;
        const bare = async (): Promise<void> => void (await pool.query(insert, [randomUUID()]));
        return await compareRates(() => node.create(), bare, run);
      } finally {
        await pool.end();
      }
    }),
};

export const createsBehindBacklog: PostgresFigure = {
  name: "backlog",
  title: `tasks created, ${inFlight} at a time, with ${waiting.toLocaleString("en-US")} waiting`,
  against: "with none waiting at first",
  unit: "/s",
  goal: { atLeast: 0.8 },
  measure: (run) =>
    withSchemas(run.place, async (freshName) => {
      const start = (): Promise<TaskNode> =>
        TaskNode.start(postgresStore(run.place.url, { schema: freshName() }), { roles: ["serve"] });
      await using full = await start();
      await using empty = await start();
      let left = waiting * run.effort.share;
      const fill = async (): Promise<void> => {
        while (left-- > 0) await full.create();
      };
      await Promise.all(Array.from({ length: inFlight }, fill));
      return await compareRates(
        () => full.create(),
        () => empty.create(),
        run,
      );
    }),
};
