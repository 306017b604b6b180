import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, cp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { listen } from "../../../src/server/http/listen.ts";
import { example, newFolder, outerEnv } from "../../docs/example-process.ts";

const folder = example("serve/");
const cliPath = example("../dist/cli.js");
const read = async (name: string): Promise<string> => readFile(join(folder, "deploy", name), "utf8");

async function freePort(): Promise<string> {
  const server = createServer();
  const port = await listen(server, "127.0.0.1", 0);
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

/** Runs a command line in which `holdfast` is the one of this checkout. */
function run(argv: readonly string[], cwd: string, env: NodeJS.ProcessEnv): ChildProcess {
  const words = argv[0] === "holdfast" ? [cliPath, ...argv.slice(1)] : argv.slice(1);
  const child = spawn(process.execPath, words, { cwd, env: { ...outerEnv, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return line.toString().trim();
}

it("runs the commands of the image: healthy while the server lives, and stopped in order", async () => {
  const dockerfile = await read("Dockerfile");
  const [, copied = ""] = /^COPY (.*) \.\/$/m.exec(dockerfile) ?? [];
  await Promise.all(copied.split(" ").map((file) => access(join(folder, file))));
  const commandOf = (instruction: string): string[] =>
    JSON.parse(new RegExp(`^${instruction}(\\[.*\\])$`, "m").exec(dockerfile)?.[1] ?? "[]") as string[];
  const [, environment = ""] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
  const image = Object.fromEntries(environment.split(" ").map((pair) => pair.split("=") as [string, string]));
  const cwd = await newFolder();
  await cp(folder, cwd, { recursive: true });
  const env = {
    ...image,
    HOLDFAST_HOST: "127.0.0.1",
    HOLDFAST_PORT: await freePort(),
    HOLDFAST_STORE: `sqlite:${join(cwd, "data.db")}`,
  };
  expect(Object.keys(image)).toEqual(Object.keys(env)); // what is set here is set in the image, with other values
  const server = run(commandOf("CMD "), cwd, env);
  const exited = once(server, "exit");
  expect(await firstLine(server)).toBe(`http://127.0.0.1:${env.HOLDFAST_PORT}/mcp`);
  const health = async (): Promise<unknown> =>
    (await once(run(commandOf("HEALTHCHECK .*CMD "), cwd, env), "exit"))[0];
  expect(await health()).toBe(0);
  server.kill("SIGTERM");
  await exited;
  await access(join(cwd, "data.db"));
  expect(await health()).toBe(1);
});

const container = z.object({
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  livenessProbe: z.object({ httpGet: z.object({ path: z.string() }) }),
  readinessProbe: z.object({ httpGet: z.object({ path: z.string() }) }),
  volumeMounts: z.array(z.object({ mountPath: z.string() })),
});

it("serves the file of the cluster, with its variables, and answers its probes", async () => {
  const [config, deployment, service] = parseAllDocuments(await read("kubernetes.yaml")).map(
    (each) => each.toJS() as Record<string, { data?: unknown }>,
  );
  expect(service).toMatchObject({ kind: "Service", spec: { selector: { app: "tools" } } });
  const { data } = z.object({ data: z.object({ "tools.yaml": z.string() }) }).parse(config);
  const { spec } = z
    .object({
      spec: z.object({ template: z.object({ spec: z.object({ containers: z.tuple([container]) }) }) }),
    })
    .parse(deployment);
  const [{ args, env, livenessProbe, readinessProbe, volumeMounts }] = spec.template.spec.containers;
  const cwd = await newFolder();
  await writeFile(join(cwd, "tools.yaml"), data["tools.yaml"]);
  const words = args.map((word) => word.replace(volumeMounts[0]?.mountPath ?? "", cwd));
  const server = run(words, cwd, {
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    ANN_TOKEN: "a-token-of-ann",
    RENDER_TOKEN: "r",
    HOLDFAST_HOST: "127.0.0.1",
    HOLDFAST_PORT: "0",
    HOLDFAST_STORE: "memory:",
  });
  const url = await firstLine(server);
  for (const probe of [livenessProbe, readinessProbe])
    expect(await fetch(new URL(probe.httpGet.path, url))).toMatchObject({ status: 200 });
  expect(await fetch(url, { method: "POST", body: "{}" })).toMatchObject({ status: 401 });
});

it("has a unit whose command serves a file, and whose programs outlive the server", async () => {
  const unit = await read("holdfast-serve.service");
  const settings = unit.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(settings.filter((line) => !/^(\[\w+\]|[A-Z]\w+=.+)$/.test(line))).toEqual([]);
  expect(settings).toContain("KillMode=process");
  const [, command = ""] = /^ExecStart=\/usr\/bin\/env (.+)$/m.exec(unit) ?? [];
  const [, environment = ""] = /^Environment=(.+)$/m.exec(unit) ?? [];
  const cwd = await newFolder();
  await cp(folder, cwd, { recursive: true });
  const words = command.split(" ").map((word) => word.replace("/etc/holdfast", cwd));
  const env = Object.fromEntries(environment.split(" ").map((pair) => pair.split("=") as [string, string]));
  const store = env["HOLDFAST_STORE"]?.replace("/var/lib/holdfast", cwd);
  const server = run(words, cwd, { ...env, HOLDFAST_STORE: store, HOLDFAST_PORT: "0" });
  expect(await firstLine(server)).toMatch(/^http:/);
  await access(join(cwd, "tasks.db"));
});
