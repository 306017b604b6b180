import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { knownNames } from "../../src/env/variables.ts";
import { sourceFiles } from "../source-files.ts";
import { example, newFolder, runExample, serveExample } from "./example-process.ts";

const guide = await readFile(new URL("../../docs/operate/environment.md", import.meta.url), "utf8");

/** The rows of tables whose first cell is a variable, cell by cell. */
const rows = [...guide.matchAll(/^\| (`HOLDFAST_.*) \|$/gm)].map(([, row = ""]) =>
  row.split("|").map((cell) => cell.trim()),
);

it("lists every variable that the command line reads", async () => {
  const read = new Set<string>();
  for (const [path, text] of await sourceFiles("src/cli", [".ts"])) {
    expect(path).toMatch(/^src\/cli\//);
    for (const [, name = ""] of text.matchAll(/env\["(HOLDFAST_\w+)"\]/g)) read.add(`\`${name}\``);
  }
  expect(read.size).toBeGreaterThan(3);
  const listed = rows.filter((cells) => cells.length === 2).map(([name]) => name);
  expect(new Set(listed)).toEqual(read);
});

it("names no variable that there is not", () => {
  const named = [...guide.matchAll(/\bHOLDFAST_[A-Z_]+\b/g)].map(([name]) => name);
  expect(named.filter((name) => !knownNames.has(name))).toEqual([]);
});

it("shows a server that takes them", { timeout: 60_000 }, async () => {
  expect(guide).toContain(await readFile(example("guides/environment.ts"), "utf8"));
  const folder = await newFolder();
  await writeFile(join(folder, "keys"), `first:${randomBytes(32).toString("base64")}\n`);
  const keys = { HOLDFAST_ENCRYPTION_KEYS_FILE: "keys" };
  const env = { HOLDFAST_PORT: "0", HOLDFAST_STORE: "sqlite:reports.db", HOLDFAST_PATH: "/tools", ...keys };
  const server = await serveExample("guides/environment.ts", folder, env);
  expect(new URL(server.url).pathname).toBe("/tools");
  const client = await connect(server.url);
  const { content } = await client.callTool("render", { month: "2026-10" });
  expect(content).toEqual([{ type: "text", text: "2 rows" }]);
  await client.close();
  const files = (await readdir(folder)).filter((name) => name.startsWith("reports.db"));
  for (const name of ["reports.db", "reports.db-wal"]) {
    expect(files).toContain(name);
    expect(await readFile(join(folder, name), "latin1")).not.toContain("2026-10");
  }
  expect(await server.stop()).toEqual([0, null]);
});

it("shows a server that says what is wrong, and does not start", { timeout: 60_000 }, async () => {
  const env = { HOLDFAST_PORT: "http", HOLDFAST_ROLE: "serve" };
  const said = await runExample("guides/environment.ts", [], await newFolder(), env);
  expect(said).toContain("Holdfast has no variable HOLDFAST_ROLE. Did you mean HOLDFAST_ROLES?");
  expect(said).toContain('HOLDFAST_PORT must be a whole number from 0 to 65535, not "http".');
});
