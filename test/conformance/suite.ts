import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
const limitMs = 110_000;

const checks = z.array(
  z.object({
    id: z.string(),
    status: z.enum(["SUCCESS", "INFO", "WARNING", "FAILURE", "SKIPPED"]),
    errorMessage: z.string().optional(),
  }),
);

/** What the suite found: by scenario, the status of each check and why it is not a success. */
export interface Findings {
  readonly exitCode: number;
  readonly scenarios: ReadonlyMap<string, z.infer<typeof checks>>;
}

/** Runs `conformance server` against `url` and reads what it wrote down; its exit code alone says too little. */
export async function runSuite(url: string, ...args: readonly string[]): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
  try {
    const { exitCode, output } = await runProgram(["server", "--url", url, "-o", folder, ...args]);
    const scenarios = await readFindings(folder);
    if (scenarios.size === 0) throw new Error(`The suite ran nothing: ${output}`);
    return { exitCode, scenarios };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The server scenarios that `revision` of the protocol requires. */
export async function requiredScenarios(revision: string): Promise<string[]> {
  const { output } = await runProgram(["list", "--server", "--requirements", revision]);
  const [, list = ""] = /^Server scenarios.*\n((?: {2}- .*\n)+)/m.exec(output) ?? [];
  return [...list.matchAll(/^ {2}- (.+)$/gm)].map(([, name = ""]) => name);
}

async function runProgram(args: readonly string[]): Promise<{ exitCode: number; output: string }> {
  const options = { cwd: tmpdir(), timeout: limitMs, maxBuffer: 64 * 1024 * 1024 };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], options);
    return { exitCode: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== "number") throw error; // not run, or not ended
    return { exitCode: code, output: `${stdout}${stderr}` };
  }
}

/** A folder for each scenario, named after it and the time. */
async function readFindings(folder: string): Promise<Findings["scenarios"]> {
  const found = new Map<string, z.infer<typeof checks>>();
  for (const name of await readdir(folder)) {
    const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? [];
    if (scenario === undefined) throw new Error(`The suite names its folders otherwise now: ${name}`);
    found.set(scenario, checks.parse(JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8"))));
  }
  return found;
}
