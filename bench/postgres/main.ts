// Measures the store on Postgres beside references in the same run: npm run bench:postgres [-- NAME...] [--json | --markdown] [--quick]
// [--url URL] [--out FOLDER]. What the figures mean is in docs/internals/measurements.md.
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { OwnServer } from "../../test/postgres/own-server.ts";
import type { Figure } from "../figures/figure.ts";
import { benchOptions, runBench } from "../run-bench.ts";
import { creates, createsBehindBacklog } from "./figures/creates.ts";
import type { PostgresFigure } from "./figures/figure.ts";
import { idle, idleApart } from "./figures/idle.ts";
import { alone, lives, retained, wal } from "./figures/lives.ts";
import { apart, severalNodes } from "./figures/nodes.ts";
import { push } from "./figures/push.ts";
import type { Place } from "./place.ts";

const all: readonly PostgresFigure[] = [
  creates,
  createsBehindBacklog,
  ...lives,
  ...alone,
  wal,
  retained,
  severalNodes(2),
  severalNodes(4),
  apart,
  idle,
  idleApart,
  push,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  // Another database than the temporary one: schemas are created in it and dropped.
  options: { ...benchOptions, url: { type: "string" } },
});

await using servers = new AsyncDisposableStack();

/** Started for the first figure, with the settings of the tests: the defaults of Postgres except for its size. */
let own: Promise<Place> | undefined;
async function startOwn(): Promise<Place> {
  const server = servers.use(await OwnServer.start());
  return { url: server.url, pid: server.pid };
}
function placeOf(url: string | undefined): Promise<Place> {
  own ??= url === undefined ? startOwn() : Promise.resolve({ url });
  return own;
}

const figures = all.map((figure): Figure => ({
  ...figure,
  measure: async (run) => figure.measure({ ...run, place: await placeOf(values.url) }),
}));
// The folder also holds the data of the started server. TMPDIR names another one.
await runBench({ ...values, name: "postgres", figures, names: positionals, folder: tmpdir() });
