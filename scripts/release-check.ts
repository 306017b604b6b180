// Checks the package as its users will have it: npm run release:check [-- --out FOLDER]. It is packed, and then installed, run without a network
// and type-checked in an empty project on each version of Node; its licences are read, and its bill of materials is written.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { permissive } from "./build/licences.ts";

/** The oldest that the package names, and the newest of each line that is maintained. */
const nodes = ["22.18.0", "22", "24", "26"];

const run = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));
const program = fileURLToPath(new URL("./release/program.ts", import.meta.url));
const hook = new URL("./release/no-network.ts", import.meta.url).href;

const { values } = parseArgs({ options: { out: { type: "string", default: "dist/release" } } });
const out = resolve(values.out);
const folder = await mkdtemp(join(tmpdir(), "holdfast-release-"));
process.on("exit", () => void rm(folder, { recursive: true, force: true }));

interface Line {
  readonly check: string;
  /** Where it could not be tried here: why. */
  readonly result: "passed" | `failed: ${string}` | `untried: ${string}`;
}
const lines: Line[] = [];

function firstLines(error: unknown): string {
  const { stdout = "", stderr = "", message = "" } = error as Record<string, string | undefined>;
  return `${stdout}${stderr}${message}`.trim().split("\n").slice(0, 8).join("\n");
}

async function check(name: string, work: () => Promise<unknown>): Promise<void> {
  const result = await work().then(
    () => "passed" as const,
    (error: unknown) => `failed: ${firstLines(error)}` as const,
  );
  lines.push({ check: name, result });
  console.log(`${name}: ${result}`);
}

/** The program of a version of Node; its package for this platform is the binary. */
async function nodeOf(version: string): Promise<string> {
  const tools = join(folder, `node-${version}`);
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  await mkdir(tools);
  await run("npm", ["install", "--silent", "--no-save", "--prefix", tools, `${name}@${version}`]);
  return join(tools, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
}

async function newProject(packedFile: string): Promise<string> {
  const project = join(folder, "project");
  await mkdir(project);
  const write = (file: string, content: object): Promise<void> =>
    writeFile(join(project, file), JSON.stringify(content));
  await write("package.json", { name: "empty", private: true, version: "1.0.0", type: "module" });
  const compilerOptions = {
    strict: true,
    module: "nodenext",
    target: "es2024",
    noEmit: true,
    types: ["node"],
  };
  await write("tsconfig.json", { compilerOptions, files: ["program.ts"] });
  await copyFile(program, join(project, "program.ts"));
  await run("npm", ["install", "--silent", packedFile], { cwd: project });
  return project;
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string };
    readonly expression?: string;
  }[];
}

/** Writes what the package brings along, of which each has a permissive licence. */
async function writeBillOfMaterials(project: string): Promise<void> {
  const { stdout } = await run("npm", ["sbom", "--sbom-format=cyclonedx", "--omit=dev"], {
    cwd: project,
    maxBuffer: 64 * 1024 * 1024,
  });
  await mkdir(out, { recursive: true });
  await writeFile(join(out, "sbom.cdx.json"), stdout);
  const { components } = JSON.parse(stdout) as { components: readonly Component[] };
  const others = components.filter(
    ({ licenses = [] }) =>
      !licenses.some(({ license, expression }) => permissive.has(license?.id ?? expression)),
  );
  if (others.length > 0 || components.length === 0)
    throw new Error(
      `Without a permissive licence: ${others.map(({ name, version }) => `${name}@${version}`).join(", ")}`,
    );
}

/** Every entry that needs no package of the user's choice. */
async function entriesOf(project: string): Promise<readonly string[]> {
  const manifest = await readFile(join(project, "node_modules/holdfast/package.json"), "utf8");
  const { exports, name } = JSON.parse(manifest) as { exports: Record<string, unknown>; name: string };
  const chosen = /ai-sdk|langchain|openai|mastra|opentelemetry|prometheus|pino|sdk-v1|postgres|package\.json/;
  return Object.keys(exports)
    .filter((entry) => !chosen.test(entry))
    .map((entry) => name + entry.slice(1));
}

await mkdir(out, { recursive: true });
const { stdout: packed } = await run("npm", ["pack", "--json", "--pack-destination", out], { cwd: root });
const [tarball] = JSON.parse(packed.slice(packed.indexOf("["))) as readonly { readonly filename: string }[];
const filename = tarball?.filename ?? "";
const project = await newProject(join(out, filename));
await check("licences and bill of materials", () => writeBillOfMaterials(project));
// The compiler comes after that: it is no part of what the package brings.
await run("npm", ["install", "--silent", "--save-dev", "typescript", "@types/node@22"], { cwd: project });
await check("types, in a strict project", () =>
  run(join(project, "node_modules/.bin/tsc"), [], { cwd: project }),
);

const noNetwork = ["--import", hook];
const imports = (await entriesOf(project))
  .map((entry) => `await import(${JSON.stringify(entry)});`)
  .join("\n");
await writeFile(join(project, "imports.js"), imports);
for (const version of nodes) {
  const node = await nodeOf(version).catch((error: unknown) => {
    lines.push({ check: `Node ${version}`, result: `untried: ${firstLines(error)}` });
    return undefined;
  });
  if (node === undefined) continue;
  const { stdout } = await run(node, ["--version"]);
  const on = (what: string): string => `Node ${stdout.trim()}: ${what}`;
  const options = { cwd: project, timeout: 120_000 };
  await check(on("imports every entry"), () => run(node, [...noNetwork, "imports.js"], options));
  await check(on("a task outlives its server, without a network"), async () => {
    await rm(join(project, "tasks.db"), { force: true });
    await run(node, [...noNetwork, "program.ts"], options);
  });
  const cli = join(project, "node_modules/holdfast/dist/cli.js");
  await check(on("holdfast --version"), () => run(node, [...noNetwork, cli, "--version"], options));
}
for (const platform of ["linux", "darwin", "win32"].filter((each) => each !== process.platform))
  lines.push({ check: platform, result: `untried: this is ${process.platform}` });

await writeFile(join(out, "report.json"), `${JSON.stringify({ package: filename, lines }, null, 2)}\n`);
for (const { check: name, result } of lines.filter((line) => line.result.startsWith("untried")))
  console.log(`${name}: ${result}`);
console.log(`Package, bill of materials and report are in ${out}.`);
if (lines.some(({ result }) => result.startsWith("failed"))) process.exitCode = 1;
