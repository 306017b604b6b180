import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { defaultOptions } from "../../src/runtime/options.ts";
import { httpOptions } from "../../src/server/http/http-option-names.ts";
import { defaultRates } from "../../src/server/rates/rate-options.ts";

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const [configuration, client] = await Promise.all(
  ["configuration", "client"].map((name) => read(`docs/guides/${name}.md`)),
);

/** The members of an interface, as its source spells them. */
async function membersOf(path: string, name: string): Promise<string[]> {
  const [, body = ""] =
    new RegExp(`export interface ${name} [^]*?{\n([^]*?)\n}\n`).exec(await read(path)) ?? [];
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member = ""]) => member);
}

/** The defaults in tables of a page, by option; a row may name two. */
function defaultsOf(page = ""): Map<string, string> {
  const rows = [...page.matchAll(/^\| (`[^|]+`) +\| ([^|]*?) +\|/gm)];
  return new Map(
    rows.flatMap(([, names = "", defaults = ""]) => {
      const values = defaults.split("; ");
      return names.split(", ").map((name, index) => [name.replaceAll("`", ""), values[index] ?? ""] as const);
    }),
  );
}

const units: Readonly<Record<string, number>> = {
  "": 1,
  s: 1_000,
  hours: 3_600_000,
  days: 86_400_000,
  KiB: 1_024,
  MiB: 1_048_576,
};

function valueOf(text: string): unknown {
  if (text === "`null`") return null;
  if (text === "none") return undefined;
  const [, list] = /^`(\[.*\])`$/.exec(text) ?? [];
  if (list !== undefined) return JSON.parse(list);
  const [, word] = /^`"(\w+)"`$/.exec(text) ?? [];
  if (word !== undefined) return word;
  const [, digits = "", unit = ""] = /^([\d,]+) ?(\w*)$/.exec(text) ?? [];
  return Number(digits.replaceAll(",", "")) * (units[unit] ?? Number.NaN);
}

it("lists every option of createTasks with its default", async () => {
  const listed = defaultsOf(configuration);
  const rates = Object.entries(defaultRates).map(([name, value]) => [`rates.${name}`, value] as const);
  for (const [name, value] of [...Object.entries(defaultOptions), ...rates]) {
    expect([name, valueOf(listed.get(name) ?? "")]).toEqual([name, value]);
  }
  const own = await membersOf("src/server/tasks.ts", "TasksOptions");
  expect(own).toContain("companions");
  const missing = own.filter((name) => !listed.has(name) && name !== "store" && name !== "rates");
  expect(missing).toEqual([]);
});

it("names every option of serveHttp, serveStdio and the stores", async () => {
  const stdio = await membersOf("src/server/stdio/serve-stdio.ts", "StdioOptions");
  const sqlite = await membersOf("src/store/sqlite/options.ts", "SqliteStoreOptions");
  const postgres = await membersOf("src/store/postgres/options.ts", "PostgresStoreOptions");
  expect([stdio.length, sqlite.length, postgres.length].every((count) => count > 1)).toBe(true);
  const names = [...Object.keys(httpOptions), ...stdio, ...sqlite, ...postgres];
  const page = configuration ?? "";
  expect(names.filter((name) => !new RegExp(`\`${name}\\b`).test(page))).toEqual([]);
});

it("lists every option of connect", async () => {
  const listed = defaultsOf(client);
  const members = await membersOf("src/client/connect-options.ts", "ConnectOptions");
  expect(members.length).toBeGreaterThan(10);
  expect(members.filter((name) => !listed.has(name))).toEqual([]);
});
