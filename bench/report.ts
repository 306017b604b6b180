import type { Figure, Measurement } from "./figures/figure.ts";
import type { Machine } from "./machine.ts";
import { median, percentile } from "./statistics.ts";

/** A figure with its measurement, or the reason why there is none. */
export interface Row {
  readonly figure: Omit<Figure, "measure">;
  readonly outcome: Measurement | Error;
}

/** Above this, the load generator may limit a rate. */
const busyGenerator = 0.9;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const amount = (value: number, unit: string): string =>
  unit === "/s" ? `${whole.format(value)}/s` : `${value.toFixed(1)} ${unit}`;

/** Undefined if there is no goal. */
function reaches(
  { goal }: Pick<Figure, "goal">,
  { measured, ratios, cpuRatios = [] }: Measurement,
): boolean | undefined {
  if (goal === undefined) return undefined;
  if ("atLeast" in goal) return median(goal.of === "cpu" ? cpuRatios : ratios) >= goal.atLeast;
  return (goal.of === "measured" ? measured : median(ratios)) <= goal.atMost;
}

/** The interquartile range of the rounds, which shows how reliable the figure is. */
function spreadText({ ratios, reference }: Measurement, unit: string): string {
  const text = (part: number): string => percentile(ratios, part).toFixed(reference === undefined ? 1 : 2);
  return `${text(0.25)} to ${text(0.75)}${reference === undefined ? ` ${unit}` : ""}`;
}

const goalText = ({ goal, against, unit }: Row["figure"]): string => {
  if (goal === undefined) return "";
  const of = goal.of === "cpu" ? " by CPU" : against === "" || goal.of === "measured" ? ` ${unit}` : "";
  return "atLeast" in goal ? `≥ ${goal.atLeast}${of}` : `≤ ${goal.atMost}${of}`;
};

function cells({ figure, outcome }: Row): string[] {
  const { name, title, against, unit } = figure;
  const goal = goalText(figure);
  if (outcome instanceof Error) return [name, title, "void", against, "", "", "", "", goal, ""];
  const { measured, reference, cpuRatios = [] } = outcome;
  const reached = reaches(figure, outcome);
  const compared = reference === undefined ? "" : amount(reference, unit);
  return [
    name,
    title,
    amount(measured, unit),
    against,
    compared,
    reference === undefined ? "" : median(outcome.ratios).toFixed(2),
    spreadText(outcome, unit),
    cpuRatios.length === 0 ? "" : median(cpuRatios).toFixed(2),
    goal,
    reached === undefined ? "" : reached ? "yes" : "no",
  ];
}

const columns = [
  "name",
  "figure",
  "measured",
  "against",
  "reference",
  "ratio",
  "half of the rounds",
  "CPU ratio",
  "goal",
  "reached",
];

export const machineText = (machine: Machine): string =>
  [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}`,
    `databases on ${machine.fileSystem}, where an fsync takes ${machine.fsyncMs.toFixed(2)} ms`,
    `${machine.date} UTC, at a load average of ${machine.loadAverage.toFixed(1)}`,
  ].join("; ");

function remarks(rows: readonly Row[]): string[] {
  return rows.flatMap(({ figure, outcome }) => {
    if (outcome instanceof Error) return [`${figure.name} is void: ${outcome.message}`];
    const { generatorLoad = 0, remark, databaseUs } = outcome;
    const found = remark === undefined ? [] : [`${figure.name}: ${remark}.`];
    if (databaseUs !== undefined)
      found.push(`${figure.name}: each life cost Postgres ${whole.format(databaseUs)} µs of CPU time.`);
    if (generatorLoad < busyGenerator) return found;
    const percent = Math.round(generatorLoad * 100);
    return [
      ...found,
      `${figure.name}: the load generator used up to ${percent}% of a core and may limit this figure.`,
    ];
  });
}

export function asText(machine: Machine, rows: readonly Row[]): string {
  const table = [columns, ...rows.map(cells)];
  // The page about a figure says what it means.
  const narrow = table.map((row) => row.filter((_, column) => columns[column] !== "figure"));
  const widths = (narrow[0] ?? []).map((_, column) =>
    Math.max(...narrow.map((row) => row[column]?.length ?? 0)),
  );
  const lines = narrow.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [machineText(machine), "", ...lines, ...remarks(rows)].join("\n");
}

export function asMarkdown(machine: Machine, rows: readonly Row[]): string {
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  const named = rows.map((row) => {
    const [name = "", ...rest] = cells(row);
    return [`\`${name}\``, ...rest];
  });
  const rule = columns.map(() => "---");
  const table = [columns, rule, ...named].map(line);
  return [`${machineText(machine)}.`, "", ...table, ...remarks(rows).map((remark) => `\n${remark}`)].join(
    "\n",
  );
}

/** A bench, as it is kept. */
export interface KeptBench {
  readonly machine: Machine;
  readonly figures: readonly KeptFigure[];
}

export type KeptFigure = Omit<Figure, "measure"> &
  (
    | { readonly void: string }
    | (Measurement & { readonly ratio: number; readonly reached?: boolean | undefined })
  );

export function asJson(machine: Machine, rows: readonly Row[]): string {
  const figures = rows.map(({ figure, outcome }): KeptFigure => {
    const { name, title, against, unit, goal } = figure;
    const described = { name, title, against, unit, ...(goal !== undefined && { goal }) };
    if (outcome instanceof Error) return { ...described, void: outcome.message };
    return { ...described, ...outcome, ratio: median(outcome.ratios), reached: reaches(figure, outcome) };
  });
  return JSON.stringify({ machine, figures } satisfies KeptBench, null, 2);
}

/** The rows of a bench that was kept. */
export function keptRows({ figures }: KeptBench): readonly Row[] {
  return figures.map((figure) => ({ figure, outcome: "void" in figure ? new Error(figure.void) : figure }));
}
