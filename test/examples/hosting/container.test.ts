import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
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

it("copies files that there are, and is shown in the guide to the letter", async () => {
  const [, copied = ""] = /^COPY (.*\.ts) \.\/$/m.exec(dockerfile) ?? [];
  expect(copied.split(" ")).toContain("server.ts");
  await Promise.all(copied.split(" ").map((file) => access(join(folder, file))));
  const guide = await readFile(join(folder, "../../docs/recipes/hosting.md"), "utf8");
  expect(guide).toContain(`\`\`\`dockerfile\n${dockerfile}\`\`\``);
});
