// Measures what a task costs, against the size of what is there beside it: npm run bench:scale [-- AXIS...] [--minutes N] [--largest N]
// [--out FOLDER] [--folder PATH]. Writes scale.json and a chart for each axis, and leaves other axes there; docs/internals/measurements.md says what they mean.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine } from "../machine.ts";
import { median } from "../statistics.ts";
import { axes, type Axis } from "./axes.ts";
import { chart, type Line, type Measured } from "./chart.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "30" },
    largest: { type: "string", default: "Infinity" },
    out: { type: "string", default: "bench/results" },
    // Not the system's temporary folder, which is often in memory.
    folder: { type: "string", default: ".holdfast" },
  },
});

const [largest, rounds] = [Number(values.largest), 5];
const chosen = positionals.length === 0 ? axes : axes.filter(({ name }) => positionals.includes(name));
if (chosen.length === 0) throw new Error(`The axes are ${axes.map(({ name }) => name).join(", ")}.`);
const points = chosen.flatMap(({ sizes }) => sizes.filter((size) => size <= largest)).length;
/** Half of the time goes into the measurements, and the rest into what is there before. */
const roundMs = Math.max(50, (Number(values.minutes) * 60_000) / 2 / (2 * rounds * points));

/** Each size in turn with the smallest, so that whatever else the machine does affects both alike. */
async function measure(axis: Axis, size: number, folder: string): Promise<Measured> {
  await using smallest = await axis.open(axis.sizes[0] ?? 1, folder);
  await using point = await axis.open(size, folder);
  await smallest.cost(roundMs / 2);
  const costs: { readonly cost: number; readonly ratio: number }[] = [];
  const round = async (): Promise<void> => {
    const before = await smallest.cost(roundMs);
    const cost = await point.cost(roundMs);
    costs.push({ cost, ratio: cost / before });
  };
  const began = performance.now();
  await round();
  // A unit that takes many rounds by itself needs few of them, and none to warm up.
  const isLong = performance.now() - began > 10 * roundMs;
  if (!isLong) costs.pop();
  for (let more = isLong ? 1 : rounds; more > 0; more--) await round();
  return {
    size,
    costUs: median(costs.map(({ cost }) => cost)),
    ratio: median(costs.map(({ ratio }) => ratio)),
  };
}

await mkdir(values.folder, { recursive: true });
await mkdir(values.out, { recursive: true });
const folder = await mkdtemp(join(resolve(values.folder), "scale-"));
const file = join(values.out, "scale.json");
const text = await readFile(file, "utf8").catch(() => "[]");
const kept = new Map((JSON.parse(text) as Line[]).map((line) => [line.name, line]));
try {
  for (const axis of chosen) {
    const { name, title, of, per } = axis;
    const machine = await describeMachine(folder);
    const measured: Measured[] = [];
    for (const size of axis.sizes.filter((each) => each <= largest)) {
      const found = await measure(axis, size, folder);
      measured.push(found);
      console.log(
        `${name} ${size}: ${found.costUs.toFixed(1)} µs per ${per}, ${found.ratio.toFixed(2)} times that of the smallest`,
      );
    }
    kept.set(name, { name, title, of, per, machine, settings: { rounds, roundMs }, points: measured });
    const lines = axes.flatMap((each) => kept.get(each.name) ?? []);
    await writeFile(file, `${JSON.stringify(lines, null, 2)}\n`);
    for (const line of lines) await writeFile(join(values.out, `${line.name}.svg`), chart(line));
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`The figures are in ${file}.`);
