import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
/** Above what a run takes on a machine that is busy: the suite starts all clients of a run at once. */
const limitMs = 280_000;

const checks = z.array(
  z.object({
    id: z.string(),
    status: z.enum(["SUCCESS", "INFO", "WARNING", "FAILURE", "SKIPPED"]),
    description: z.string().optional(),
    errorMessage: z.string().optional(),
  }),
);

/** What the suite found: by scenario, the status of each check and why it is not a success. */
export interface Findings {
  readonly exitCode: number;
  readonly scenarios: ReadonlyMap<string, z.infer<typeof checks>>;
}

/** Runs `conformance server` against `url` and reads what it wrote down; its exit code alone says too little. */
export function runSuite(url: string, ...args: readonly string[]): Promise<Findings> {
  return findingsOf(["server", "--url", url, ...args]);
}

/** Runs `conformance client` with a program of ours, which is started for each scenario. */
export function runClientSuite(file: string, ...args: readonly string[]): Promise<Findings> {
  const command = [process.execPath, file].map((part) => JSON.stringify(part)).join(" ");
  return findingsOf(["client", "--command", command, "--timeout", String(limitMs), ...args]);
}

/** Every check that is not a success, but for remarks that ask for nothing. */
export function complaints({ scenarios }: Findings): string[] {
  return [...scenarios].flatMap(([scenario, found]) =>
    found
      .filter(({ status }) => status !== "SUCCESS" && status !== "INFO")
      .map(({ id, status, errorMessage, description }) => {
        const why = status === "SKIPPED" ? description : (errorMessage ?? description);
        return `${scenario}: ${id} ${status}: ${why}`;
      }),
  );
}

/** The scenarios for a side that `revision` of the protocol requires; without a revision, all that there are. */
export async function scenariosFor(side: "server" | "client", revision?: string): Promise<string[]> {
  const of = revision === undefined ? [] : ["--requirements", revision];
  const { output } = await runProgram(["list", `--${side}`, ...of]);
  const heading = side === "server" ? "Server scenarios" : "Client scenarios";
  const [, list = ""] = new RegExp(`^${heading}.*\\n((?: {2}- .*\\n)+)`, "m").exec(output) ?? [];
  return [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
}

async function findingsOf(args: readonly string[]): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
  try {
    const { exitCode, output } = await runProgram([...args, "-o", folder]);
    const scenarios = await readFindings(folder);
    if (scenarios.size === 0) throw new Error(`The suite ran nothing: ${output}`);
    return { exitCode, scenarios };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

/** A folder for each scenario, named after it and the time; the name may have a folder of its own. */
async function readFindings(folder: string): Promise<Findings["scenarios"]> {
  const found = new Map<string, z.infer<typeof checks>>();
  for (const file of await readdir(folder, { recursive: true })) {
    if (basename(file) !== "checks.json") continue;
    const name = dirname(file).split(sep).join("/");
    const [, scenario] = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? [];
    if (scenario === undefined) throw new Error(`The suite names its folders otherwise now: ${name}`);
    found.set(scenario, checks.parse(JSON.parse(await readFile(join(folder, file), "utf8"))));
  }
  return found;
}
