import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { finishedTask, openSession } from "../client/answers.ts";
import { Connection } from "../client/connection.ts";
import { StatelessRequests, type Requests } from "../client/requests.ts";
import { keepBusy, withClients } from "../load.ts";
import { ServerProcess } from "../server-process.ts";
import type { Figure, Measurement, Run } from "./figure.ts";
import { reads } from "./tasks-get.ts";

/** What V8 writes with `--cpu-prof`. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const garbage = "garbage collection";
const idle = "idle";

/** The parts of a server, by where a function is written; what is native counts to what calls it. */
const rooms: readonly (readonly [string, RegExp])[] = [
  ["the store", /\/src\/(?:store|task)\//],
  ["requests, admission and answers", /\/src\/(?:server|generation)\//],
  ["the runtime", /\/src\//],
  ["Node's HTTP and sockets", /^node:/],
];

type Frame = CpuProfile["nodes"][number]["callFrame"];

/** Where functions are written, which are compiled into other files. */
class Sources {
  readonly #maps = new Map<string, SourceMap>();

  of({ url, lineNumber, columnNumber }: Frame): string {
    if (!url.startsWith("file:") || !url.includes("/dist/")) return url;
    const file = `${fileURLToPath(url)}.map`;
    if (!existsSync(file)) return url;
    const map =
      this.#maps.get(url) ?? new SourceMap(JSON.parse(readFileSync(file, "utf8")) as SourceMapPayload);
    this.#maps.set(url, map);
    const entry = map.findEntry(lineNumber, columnNumber);
    return "originalSource" in entry ? new URL(entry.originalSource, url).href : url;
  }
}

function partOf(frame: Frame, sources: Sources): string | undefined {
  if (frame.functionName === "(garbage collector)") return garbage;
  if (frame.functionName === "(idle)") return idle;
  const source = sources.of(frame);
  return rooms.find(([, pattern]) => pattern.test(source))?.[0];
}

/** The share of each part of a thread's busy time, the largest first. */
function sharesOf({ nodes, samples, timeDeltas }: CpuProfile): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parts = new Map<number, string>();
  const sources = new Sources();
  const assign = (id: number, inherited: string): void => {
    const node = byId.get(id);
    if (node === undefined) return;
    const part = partOf(node.callFrame, sources) ?? inherited;
    parts.set(id, part);
    for (const child of node.children ?? []) assign(child, part);
  };
  const [root] = nodes;
  if (root !== undefined) assign(root.id, "the rest");
  const spent = new Map<string, number>();
  for (const [place, id] of samples.entries()) {
    const part = parts.get(id) ?? "the rest";
    if (part !== idle) spent.set(part, (spent.get(part) ?? 0) + (timeDeltas[place] ?? 0));
  }
  const whole = [...spent.values()].reduce((sum, each) => sum + each, 0);
  return new Map(
    [...spent].map(([part, each]) => [part, each / whole] as const).toSorted(([, a], [, b]) => b - a),
  );
}

type Open = (connection: Connection, url: string) => Promise<Requests>;

/** Polls a finished task, and looks where the time of the server's thread goes. */
async function measure({ folder, effort }: Run, open: Open): Promise<Measurement> {
  const profiles = await mkdtemp(join(folder, "profiles-"));
  const server = await ServerProcess.start(
    "../test/everything/main.ts",
    await mkdtemp(join(folder, "server-")),
    { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` },
  );
  try {
    const { get, reply } = await Connection.withOne(server.url, async (connection) =>
      finishedTask(connection, await open(connection, server.url)),
    );
    await withClients(reads(server, get, reply.body), 50, (units) =>
      keepBusy(units, effort.rounds * effort.roundMs),
    );
  } finally {
    await server.stop();
  }
  // CPU.DATE.TIME.PID.THREAD.NUMBER.cpuprofile: its first thread serves.
  const found = (await readdir(profiles)).find((name) => /^CPU\.\d+\.\d+\.\d+\.0\./.test(name));
  if (found === undefined) throw new Error("V8 wrote no profile.");
  const shares = sharesOf(JSON.parse(await readFile(join(profiles, found), "utf8")) as CpuProfile);
  const percent = 100 * (shares.get(garbage) ?? 0);
  const others = [...shares].map(([part, share]) => `${part} ${(100 * share).toFixed(0)} %`);
  return { measured: percent, ratios: [percent], remark: `where the time goes: ${others.join(", ")}` };
}

const goal = { atMost: 8 } as const;

export const garbageOfGet: Figure = {
  name: "tasks-get-garbage",
  title: "the share of garbage collection in the time of a server's thread under tasks-get",
  against: "",
  unit: "%",
  goal,
  measure: (run) => measure(run, async (_connection, url) => new StatelessRequests(url)),
};

export const garbageOfSession: Figure = {
  name: "tasks-get-session-garbage",
  title: "the share of garbage collection in the time of a server's thread under tasks-get-session",
  against: "",
  unit: "%",
  goal,
  measure: (run) => measure(run, openSession),
};
