import { rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Figure } from "./figures/figure.ts";
import { fullEffort, quickEffort } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { asJson, asMarkdown, asText, type Row } from "./report.ts";

/** The options of every bench. */
export const benchOptions = {
  json: { type: "boolean", default: false },
  markdown: { type: "boolean", default: false },
  quick: { type: "boolean", default: false },
  // A folder that keeps the figures as JSON: the page of benchmarks is made from it.
  out: { type: "string" },
} as const;

export interface Bench {
  /** Of the file in `out`. */
  readonly name: string;
  readonly figures: readonly Figure[];
  /** The figures to measure; empty for all. */
  readonly names: readonly string[];
  /** The folder for databases. What the bench creates there is deleted when it exits. */
  readonly folder: string;
  readonly json: boolean;
  readonly markdown: boolean;
  readonly quick: boolean;
  readonly out?: string | undefined;
}

/** Measures one figure after another and prints them. Unknown names end the process. */
export async function runBench(bench: Bench): Promise<void> {
  const chosen = chosenOf(bench);
  await mkdir(bench.folder, { recursive: true });
  const folder = await mkdtemp(join(resolve(bench.folder), "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

  const machine = await describeMachine(folder);
  const effort = bench.quick ? quickEffort : fullEffort;
  const rows: Row[] = [];
  for (const figure of chosen) {
    console.error(`${figure.name}: ${figure.title}`);
    const outcome = await figure
      .measure({ folder, effort })
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    rows.push({ figure, outcome });
  }
  const print = bench.json ? asJson : bench.markdown ? asMarkdown : asText;
  console.log(print(machine, rows));
  if (bench.out !== undefined)
    await writeFile(join(bench.out, `${bench.name}.json`), `${asJson(machine, rows)}\n`);
  if (rows.some(({ outcome }) => outcome instanceof Error)) process.exitCode = 1;
}

function chosenOf({ figures, names }: Bench): readonly Figure[] {
  const unknown = names.filter((name) => figures.every((figure) => figure.name !== name));
  if (unknown.length > 0) {
    const known = figures.map(({ name }) => name).join(", ");
    console.error(`There is no figure ${unknown.join(", ")}. The figures are ${known}.`);
    process.exit(2);
  }
  return names.length === 0 ? figures : figures.filter(({ name }) => names.includes(name));
}
