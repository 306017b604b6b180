import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { folder, holdfast, root, type Run } from "./run-cli.ts";
import { outerEnv } from "../docs/example-process.ts";
import { runMain } from "./run-main.ts";

const names = [
  ".dockerignore",
  ".gitignore",
  "AGENTS.md",
  "Dockerfile",
  "README.md",
  "package.json",
  "src/client.ts",
  "src/server.ts",
  "src/tools.ts",
  "test/report.test.ts",
  "tsconfig.json",
];

/** What an installed project has: the packages beside a built Holdfast, which brings no second SDK. */
async function install(project: string): Promise<void> {
  const modules = join(project, "node_modules");
  await mkdir(modules);
  for (const name of ["@modelcontextprotocol", "@types", "undici-types", "zod"])
    await symlink(join(root, "node_modules", name), join(modules, name));
  await symlink(root, join(modules, "holdfast"));
}

async function node(cwd: string, args: readonly string[]): Promise<Run> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { code: child.exitCode, stdout, stderr };
}

const filesIn = async (path: string): Promise<string[]> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .toSorted();
};

it("writes a project that passes its own tests", { timeout: 180_000 }, async () => {
  const cwd = await folder();
  const made = await holdfast(["init", "My Reports"], { cwd });
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(made.stdout).toMatch(
    /\n {2}src\/server\.ts\n[^]*Next:\n {2}cd 'My Reports'\n {2}npm pack \S+ --ignore-scripts\n {2}npm install\n {2}npm test\n {2}npm start\n$/,
  );
  const project = join(cwd, "My Reports");
  expect(await filesIn(project)).toEqual(names);
  const { dependencies } = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  expect(dependencies["holdfast"]).toMatch(/^file:holdfast-[\d.]+\.tgz$/);
  await install(project);
  const tested = await node(project, ["--import", "holdfast", "--test", "--test-reporter=tap"]);
  expect(tested.stdout).toMatch(/^# pass 2$/m);
  expect(tested).toMatchObject({ code: 0 });
});

it("writes a server and a client that work together", { timeout: 120_000 }, async () => {
  const cwd = await folder();
  await runMain(["init"], { cwd });
  await install(cwd);
  const env = { ...outerEnv, HOLDFAST_PORT: "0", HOLDFAST_STORE: "sqlite:reports.db", TOKEN: "secret" };
  const server = spawn(process.execPath, ["--import", "holdfast", "src/server.ts"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const SERVER = line.toString().trim();
  const client = spawn(process.execPath, ["src/client.ts", "2026-11"], {
    cwd,
    env: { ...env, SERVER },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void client.kill("SIGKILL"));
  client.stdin.write("y\n");
  expect(await text(client.stdout)).toMatch(/Upload 2 rows\? \[y\/n\] [^]*https:\/\/example\.com\/.*rows=2/);
  const refused = await runMain(["tools", SERVER], { cwd });
  expect(refused).toMatchObject({ code: 6 });
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(await readdir(cwd)).toContain("reports.db");
});

it("takes its versions from the package, and a packed Holdfast along", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "holdfast-0.1.0.tgz"), "packed");
  const run = await runMain(["init", "reports", "--tarball", "holdfast-0.1.0.tgz", "--json"], { cwd });
  const document: unknown = JSON.parse(run.stdout);
  expect(document).toEqual({ folder: join(cwd, "reports"), files: expect.arrayContaining(names) });
  expect(await readFile(join(cwd, "reports/holdfast-0.1.0.tgz"), "utf8")).toBe("packed");
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly files: readonly string[];
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const written: unknown = JSON.parse(await readFile(join(cwd, "reports/package.json"), "utf8"));
  expect(written).toMatchObject({
    name: "reports",
    dependencies: {
      "@modelcontextprotocol/server": own.dependencies["@modelcontextprotocol/server"],
      holdfast: "file:holdfast-0.1.0.tgz",
      zod: own.devDependencies["zod"],
    },
    devDependencies: {
      typescript: own.devDependencies["typescript"],
      "@types/node": own.devDependencies["@types/node"],
    },
  });
  expect(own.files).toContain("templates");
});

it("refuses a folder that has any of the files, and writes nothing", async () => {
  const cwd = await folder();
  await mkdir(join(cwd, "src"));
  await writeFile(join(cwd, "src/server.ts"), "mine");
  await writeFile(join(cwd, ".gitignore"), "mine");
  const run = await runMain(["init"], { cwd });
  expect(run).toMatchObject({ code: 2, stdout: "" });
  expect(run.stderr).toContain(
    ". already has src/server.ts, .gitignore, so nothing was written. Give a new folder: holdfast init my-server",
  );
  expect(await filesIn(cwd)).toEqual([".gitignore", "src/server.ts"]);
});

it("says so of what is no folder, and of what is no package", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "file"), "");
  const file = await runMain(["init", "file"], { cwd });
  expect(file).toMatchObject({ code: 2, stdout: "" });
  expect(file.stderr).toContain("cannot be written (ENOTDIR). Give another folder.");
  const tarball = await runMain(["init", "new", "--tarball", "missing.tgz"], { cwd });
  expect(tarball.code).toBe(2);
  expect(tarball.stderr).toContain("--tarball takes the .tgz file that npm pack made from Holdfast");
  await expect(lstat(join(cwd, "new"))).rejects.toThrow("ENOENT");
});
