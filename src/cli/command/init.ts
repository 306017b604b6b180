import { copyFile, lstat, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { quoteWord } from "../arguments/words.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import { packageRoot } from "../io.ts";

/** Each file of a project, with its template. npm would leave out templates whose names begin with a dot. */
const templates: ReadonlyMap<string, string> = new Map([
  ["tsconfig.json", "tsconfig.json"],
  ["src/tools.ts", "src/tools.ts"],
  ["src/server.ts", "src/server.ts"],
  ["src/client.ts", "src/client.ts"],
  ["test/report.test.ts", "test/report.test.ts"],
  ["Dockerfile", "Dockerfile"],
  [".dockerignore", "dockerignore"],
  [".gitignore", "gitignore"],
  ["README.md", "README.md"],
  ["AGENTS.md", "AGENTS.md"],
]);

/** `holdfast init [DIR]`: writes a project with a server, a client and a test. */
export async function init(
  { io, output }: Context,
  { dir, options: { tarball } }: Given<"init">,
): Promise<ExitCode> {
  const folder = resolve(io.cwd, dir);
  const packed = tarball === undefined ? undefined : resolve(io.cwd, tarball);
  if (packed !== undefined) await assertTarball(packed);
  const files = new Map<string, string>();
  const copied = packed === undefined ? undefined : basename(packed);
  files.set("package.json", await packageJson(folder, copied));
  for (const [name, template] of templates)
    files.set(name, await readFile(new URL(`templates/project/${template}`, packageRoot), "utf8"));

  const names = copied === undefined ? [...files.keys()] : [...files.keys(), copied];
  const target = packed === undefined ? undefined : join(folder, basename(packed));
  // A tarball that is already in the folder stays there.
  const isInPlace = packed === target;
  await assertFree(folder, isInPlace ? [...files.keys()] : names, dir);
  await write(folder, files);
  if (packed !== undefined && target !== undefined && !isInPlace) await copyFile(packed, target);

  const path = relative(io.cwd, folder);
  const next = [
    ...(path === "" ? [] : [`cd ${quoteWord(path)}`]),
    // It packs the Holdfast that runs.
    ...(copied === undefined ? [`npm pack ${quoteWord(fileURLToPath(packageRoot))} --ignore-scripts`] : []),
    "npm install",
    "npm test",
    "npm start",
  ];
  const list = (lines: readonly string[]): string => lines.map((line) => `  ${line}\n`).join("");
  const text = `Wrote to ${folder}:\n${list(names)}\nNext:\n${list(next)}`;
  return output.say({ json: { folder, files: names }, text });
}

async function packageJson(folder: string, tarball: string | undefined): Promise<string> {
  const { version, engines, dependencies, devDependencies } = JSON.parse(
    await readFile(new URL("package.json", packageRoot), "utf8"),
  ) as OwnPackage;
  const document = {
    name: packageName(folder),
    version: "1.0.0",
    private: true,
    type: "module",
    engines,
    // Node loads Holdfast first, which says which Node is needed where one is too old to run TypeScript.
    scripts: {
      start: "node --import holdfast src/server.ts",
      test: "node --import holdfast --test",
      check: "tsc",
    },
    // The SDK's exact version that Holdfast depends on: a second copy of the SDK would have another McpServer class.
    dependencies: {
      "@modelcontextprotocol/server": dependencies["@modelcontextprotocol/server"],
      // Never by its name alone: on npm, that is not ours.
      holdfast: `file:${tarball ?? `holdfast-${version}.tgz`}`,
      zod: devDependencies["zod"],
    },
    devDependencies: {
      "@types/node": devDependencies["@types/node"],
      typescript: devDependencies["typescript"],
    },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

interface OwnPackage {
  readonly version: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The folder's name, as far as npm accepts it. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z\d-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  // npm does not install a package into one of the same name.
  return name === "" || name === "holdfast" ? "reports" : name;
}

async function assertTarball(path: string): Promise<void> {
  const found = await realpath(path).catch(() => undefined);
  if (found === undefined || !path.endsWith(".tgz"))
    throw new UsageError(
      `--tarball takes the .tgz file that npm pack made from Holdfast, and ${path} is not one.`,
    );
}

/** Throws if any of the files exists, so that an existing project is not mixed with the new one. */
async function assertFree(folder: string, names: readonly string[], dir: string): Promise<void> {
  const kinds = await Promise.all(names.map((name) => isThere(join(folder, name))));
  const taken = names.filter((_, at) => kinds[at]);
  if (taken.length > 0)
    throw new UsageError(
      `${dir} already has ${taken.join(", ")}, so nothing was written. Give a new folder: holdfast init my-server`,
    );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return false;
    throw unwritable(path, error);
  }
}

async function write(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, text] of files) {
    const path = join(folder, name);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: "wx" });
    } catch (error) {
      throw unwritable(path, error);
    }
  }
}

function unwritable(path: string, error: unknown): UsageError {
  return new UsageError(
    `${path} cannot be written (${codeOf(error) ?? String(error)}). Give another folder.`,
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
