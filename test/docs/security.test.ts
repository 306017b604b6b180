import { readFile } from "node:fs/promises";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { defaultOptions } from "../../src/runtime/options.ts";
import { defaultHttpLimits } from "../../src/server/http/limits.ts";
import { defaultListenLimits } from "../../src/server/listen/listen-slots.ts";
import { defaultRates } from "../../src/server/rates/rate-options.ts";

const root = new URL("../../", import.meta.url);
const [page, configuration, httpOptions] = await Promise.all(
  ["SECURITY.md", "docs/guides/configuration.md", "src/server/http/http-options.ts"].map((path) =>
    readFile(new URL(path, root), "utf8"),
  ),
);

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

const rates = Object.fromEntries(
  Object.entries(defaultRates).map(([name, value]) => [`rates.${name}`, value]),
);
const defaults: Readonly<Record<string, unknown>> = {
  ...defaultOptions,
  ...rates,
  ...defaultHttpLimits,
  ...defaultListenLimits,
};

it("names the limits that there are, with their defaults", () => {
  const named = limitsOf(page);
  for (const [name, value] of named) expect([name, value]).toEqual([name, defaults[name]]);
  expect([...named.keys()]).toEqual(expect.arrayContaining(Object.keys(rates)));
  expect([...named.keys()]).toEqual(expect.arrayContaining(Object.keys(defaultHttpLimits)));
  expect([...named.keys()]).toEqual(expect.arrayContaining(Object.keys(defaultListenLimits)));
  const ofTasks = Object.keys(defaultOptions).filter(
    (name) => name.startsWith("max") && !name.includes("Crash"),
  );
  expect([...named.keys()]).toEqual(expect.arrayContaining(ofTasks));
});

it("says in the guide the limits of HTTP that there are, with their defaults", () => {
  const named = limitsOf(configuration?.split("\n## Stores")[0]);
  for (const [name, value] of Object.entries(defaultHttpLimits)) {
    expect([name, named.get(name)]).toEqual([name, value]);
  }
});

it("names options of HTTP that there are", () => {
  const known = [...(httpOptions ?? "").matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name);
  const others = [
    "host",
    "authenticate",
    "anonymous",
    "allowedHosts",
    "allowedOrigins",
    "cors",
    "credentials",
  ];
  for (const name of [...others, "maxRequestBodySize", ...Object.keys(defaultHttpLimits)]) {
    expect(known).toContain(name);
  }
  for (const name of others) expect(page).toContain(`\`${name}`);
  expect(() => createTasks({ store: memoryStore(), rates: { callsPerMinute: null } })).not.toThrow();
});
