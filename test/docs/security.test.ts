import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { connectOptions } from "../../src/client/connect-options.ts";
import type { Table } from "../../src/options/options.ts";
import { httpOptions } from "../../src/server/http/http-options.ts";
import { rateOptions } from "../../src/server/limits.ts";
import { tasksOptions } from "../../src/server/tasks-options.ts";

const root = new URL("../../", import.meta.url);
const page = await readFile(new URL("SECURITY.md", root), "utf8");

const units: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  KiB: 1_024,
  MiB: 1_048_576,
};

/** What the last columns of tables of options say, by option. */
function limitsOf(text = ""): Map<string, number> {
  const rows = text.matchAll(/^\| `([\w.]+)` +\| ([\d,]+)(?: ([A-Za-z]+?))?s? +\|/gm);
  return new Map(
    [...rows].map(([, name = "", digits = "", unit]) => [
      name,
      Number(digits.replaceAll(",", "")) * (unit === undefined ? 1 : (units[unit] ?? Number.NaN)),
    ]),
  );
}

/** The options of a table that have a number, with their defaults. */
function numbersOf({ rows }: Table<object>, prefix = ""): [name: string, value: number][] {
  return [...rows].flatMap(([name, { default: value }]) =>
    typeof value === "number" ? [[`${prefix}${name}`, value] as const] : [],
  ) as [string, number][];
}

it("names the limits that there are, with their defaults", () => {
  const ofTasks = numbersOf(tasksOptions);
  const ofHttp = numbersOf(httpOptions).filter(([name]) => name !== "port");
  const ofRates = numbersOf(rateOptions, "rates.");
  const ofClients = numbersOf(connectOptions).filter(([name]) => name.startsWith("max"));
  const defaults = new Map([...ofTasks, ...ofHttp, ...ofRates, ...ofClients]);
  const named = limitsOf(page);
  for (const [name, value] of named) expect([name, value]).toEqual([name, defaults.get(name)]);
  const limits = ofTasks.filter(([name]) => name.startsWith("max") && !name.includes("Crash"));
  for (const [name] of [...limits, ...ofHttp, ...ofRates, ...ofClients])
    expect([...named.keys()]).toContain(name);
});

it("names options of HTTP that there are", () => {
  const others = ["host", "authenticate", "anonymous", "allowedHosts", "allowedOrigins", "cors"];
  for (const name of others) {
    expect(httpOptions.rows.has(name)).toBe(true);
    expect(page).toContain(`\`${name}`);
  }
});
