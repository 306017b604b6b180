import type { Measurement } from "../../figures/figure.ts";
import { median } from "../../statistics.ts";
import { withClient } from "../../../test/postgres/with-client.ts";
import { cpuMsBelow } from "../../process-tree.ts";
import { compare, inFlight } from "../in-flight.ts";
import { NodeProcess, type PeerKind } from "../node-process.ts";
import { withSchemas } from "../place.ts";
import type { PostgresFigure, PostgresRun } from "./figure.ts";

interface Against {
  readonly name: string;
  readonly kind: PeerKind;
  readonly against: string;
  readonly hasStep?: boolean;
  readonly goal?: { readonly atLeast: number };
}

/** Whole lives in a process, and in one of a peer. */
function livesAgainst({ name, kind, against, hasStep = false, ...goal }: Against): PostgresFigure {
  const step = hasStep ? ", with one step" : "";
  return {
    name,
    title: `whole lives of tasks${step}, ${inFlight} at a time: created, run, ended, read`,
    against,
    unit: "/s",
    ...goal,
    measure: ({ place, effort }) =>
      withSchemas(place, async (freshName) => {
        const { url } = place;
        await using node = await NodeProcess.start({ url, schema: freshName(), hasStep });
        await using peer = await NodeProcess.startPeer(kind, { url, schema: freshName() });
        return await compare(
          async (ms) => (await node.work(ms)).perSecond,
          async (ms) => (await peer.work(ms)).perSecond,
          effort,
        );
      }),
  };
}

export const lives: readonly PostgresFigure[] = [
  livesAgainst({
    name: "lives",
    kind: "graphile",
    against: "jobs of graphile-worker, added and run one by one",
    goal: { atLeast: 8 },
  }),
  livesAgainst({
    name: "lives-tuned",
    kind: "graphile-tuned",
    against: "jobs of graphile-worker, added 50 at a time, with its local queue, completed in batches",
  }),
  livesAgainst({
    name: "lives-pg-boss",
    kind: "pg-boss",
    against: "jobs of pg-boss, added, fetched and completed in batches",
  }),
  livesAgainst({ name: "lives-dbos", kind: "dbos", against: "workflows of DBOS", hasStep: true }),
];

/** One life at a time, beside workflows of DBOS, whose steps run at least once, as those of tools with `onCrash: "resume"` do. */
function aloneAgainst(more: Pick<PostgresFigure, "name" | "title">, onCrash?: "resume"): PostgresFigure {
  return {
    ...more,
    against: "a workflow of DBOS with one step",
    unit: "ms",
    goal: { atMost: 1.5 },
    measure: ({ place, effort }) =>
      withSchemas(place, async (freshName) => {
        const settings = (): Parameters<typeof NodeProcess.start>[0] => ({
          url: place.url,
          schema: freshName(),
          hasStep: true,
          inFlight: 1,
        });
        await using node = await NodeProcess.start({ ...settings(), ...(onCrash && { onCrash }) });
        await using peer = await NodeProcess.startPeer("dbos", settings());
        const mean = async (of: NodeProcess, ms: number): Promise<number> =>
          1_000 / (await of.work(ms)).perSecond;
        return await compare(
          (ms) => mean(node, ms),
          (ms) => mean(peer, ms),
          effort,
        );
      }),
  };
}

export const alone: readonly PostgresFigure[] = [
  aloneAgainst({ name: "alone", title: "a whole life of a task with one step, one at a time; mean" }),
  aloneAgainst({ name: "alone-resume", title: 'the same, of a tool with `onCrash: "resume"`' }, "resume"),
];

export const wal: PostgresFigure = {
  name: "wal",
  title: `write-ahead log for a whole life of a task, ${inFlight} at a time`,
  against: "a job of graphile-worker, with its local queue, completed in batches",
  unit: "KB",
  goal: { atMost: 2, of: "measured" },
  measure: ({ place, effort }) =>
    withSchemas(place, async (freshName) => {
      const { url } = place;
      await using node = await NodeProcess.start({ url, schema: freshName() });
      await using peer = await NodeProcess.startPeer("graphile-tuned", { url, schema: freshName() });
      const cpu: number[] = [];
      const written = async (of: NodeProcess, ms: number, spent?: number[]): Promise<number> => {
        const before = { bytes: await walBytes({ place }), cpu: cpuMsBelow(place.pid) };
        const { lives: lived } = await of.work(ms);
        spent?.push(((cpuMsBelow(place.pid) - before.cpu) / lived) * 1_000);
        return ((await walBytes({ place })) - before.bytes) / lived / 1_000;
      };
      const found: Measurement = await compare(
        (ms) => written(node, ms, cpu),
        (ms) => written(peer, ms),
        effort,
      );
      const databaseUs = median(cpu);
      return Number.isNaN(databaseUs) ? found : { ...found, databaseUs };
    }),
};

/** Its tables and indexes, and how many tasks they hold, once what was deleted can be used again. */
async function stored(
  url: string,
  schema: string,
): Promise<{ readonly bytes: number; readonly tasks: number }> {
  return withClient(url, async (client) => {
    await client.query("vacuum");
    const { rows } = await client.query<{ bytes: string; tasks: string }>(
      `select sum(pg_total_relation_size(format('%I.%I', schemaname, tablename))) as bytes,
        (select count(*) from ${schema}.task) as tasks
        from pg_tables where schemaname = $1`,
      [schema],
    );
    return { bytes: Number(rows[0]?.bytes), tasks: Number(rows[0]?.tasks) };
  });
}

export const retained: PostgresFigure = {
  name: "stored",
  title: "what a task that has ended takes on disk, with its indexes and a small result",
  against: "",
  unit: "KB",
  goal: { atMost: 1.5 },
  measure: ({ place, effort }) =>
    withSchemas(place, async (freshName) => {
      const schema = freshName();
      await using node = await NodeProcess.start({ url: place.url, schema });
      await node.work(effort.warmUpMs);
      const each: number[] = [];
      for (let round = 0; round < effort.rounds; round++) {
        const before = await stored(place.url, schema);
        await node.work(effort.roundMs);
        const after = await stored(place.url, schema);
        each.push((after.bytes - before.bytes) / (after.tasks - before.tasks) / 1_000);
      }
      return { measured: median(each), ratios: each };
    }),
};

async function walBytes({ place }: Pick<PostgresRun, "place">): Promise<number> {
  return withClient(place.url, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes",
    );
    return Number(rows[0]?.bytes);
  });
}
