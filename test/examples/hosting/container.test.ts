import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { listen } from "../../../src/server/http/listen.ts";
import { newFolder } from "../../docs/example-process.ts";

const folder = fileURLToPath(new URL("../../../examples/hosting/", import.meta.url));
const dockerfile = await readFile(join(folder, "Dockerfile"), "utf8");

/** The command in the exec form of an instruction. */
function commandOf(instruction: RegExp): [string, ...string[]] {
  const [, json = "[]"] = new RegExp(`${instruction.source}(\\[.*\\])$`, "m").exec(dockerfile) ?? [];
  return JSON.parse(json) as [string, ...string[]];
}

const [, environment = ""] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
const image = Object.fromEntries(environment.split(" ").map((pair) => pair.split("=") as [string, string]));

function run([command, ...args]: [string, ...string[]], env: NodeJS.ProcessEnv): ChildProcess {
  expect(command).toBe("node");
  const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...image, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server, "127.0.0.1", 0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it("runs the commands of the image: healthy while the server lives, and stopped in order", async () => {
  const place = {
    HOST: "127.0.0.1",
    PORT: String(await freePort()),
    DATABASE: join(await newFolder(), "tasks.db"),
  };
  // What is set here is set in the image, with other values.
  expect(Object.keys(image)).toEqual(expect.arrayContaining(Object.keys(place)));
  const health = async (): Promise<unknown> =>
    (await once(run(commandOf(/^HEALTHCHECK .*CMD /), place), "exit"))[0];
  expect(await health()).toBe(1);
  const server = run(commandOf(/^CMD /), place);
  const exited = once(server, "exit");
  const [line] = (await once(server.stdout ?? server, "data")) as [Buffer];
  expect(line.toString()).toBe(`http://127.0.0.1:${place.PORT}/mcp\n`);
  await access(place.DATABASE);
  expect(await health()).toBe(0);
  server.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  expect(await health()).toBe(1);
});

it("copies files that there are", async () => {
  const [, copied = ""] = /^COPY (.*\.ts) \.\/$/m.exec(dockerfile) ?? [];
  expect(copied.split(" ")).toContain("server.ts");
  await Promise.all(copied.split(" ").map((file) => access(join(folder, file))));
});

it("has settings for systemd, Kubernetes and Fly that fit the server and its image, and a page that shows them", async () => {
  const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const [unit, manifest, fly] = await Promise.all(
    ["reports.service", "kubernetes.yaml", "fly.toml"].map(read),
  );
  const [set, service] = parseAllDocuments(manifest ?? "").map((each) => {
    expect(each.errors).toEqual([]);
    return each.toJS() as Record<string, unknown>;
  });
  const port = Number(image["PORT"]);
  expect(set).toMatchObject({
    kind: "StatefulSet",
    spec: {
      replicas: 1, // one SQLite file has one machine
      template: {
        spec: {
          containers: [
            {
              ports: [{ containerPort: port }],
              readinessProbe: { httpGet: { path: "/readyz" } },
              livenessProbe: { httpGet: { path: "/healthz" } },
              volumeMounts: [{ mountPath: dirname(image["DATABASE"] ?? "") }],
            },
          ],
        },
      },
    },
  });
  expect(service).toMatchObject({ kind: "Service", spec: { selector: { app: "reports" } } });
  expect(fly).toContain(`internal_port = ${port}`);
  expect(fly).toContain(`destination = "${dirname(image["DATABASE"] ?? "")}"`);
  expect(fly).toContain('path = "/readyz"');
  // A stop has ten seconds (stopDeadlineMs).
  const stops = [
    /^TimeoutStopSec=(\d+)$/m.exec(unit ?? ""),
    /terminationGracePeriodSeconds: (\d+)/.exec(manifest ?? ""),
    /^kill_timeout = "(\d+)s"/m.exec(fly ?? ""),
  ].map((found) => Number(found?.[1]));
  for (const seconds of stops) expect(seconds).toBeGreaterThan(10);
  const page = await readFile(join(folder, "../../docs/recipes/deploying.md"), "utf8");
  expect(page).toContain(`\`\`\`dockerfile\n${dockerfile}\`\`\``);
  expect(page).toContain(`\`\`\`ini\n${unit}\`\`\``);
  expect(page).toContain(`\`\`\`yaml\n${manifest}\`\`\``);
  expect(page).toContain(`\`\`\`toml\n${fly}\`\`\``);
});
