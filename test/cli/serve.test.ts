import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/server/http/listen.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("writes a file to begin with, which can be served, and says what its calls would run", async () => {
  const cwd = await folder();
  const run = (...args: readonly string[]) => runMain(["serve", ...args], { cwd });
  expect(await run("--init")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/holdfast serve tools\.yaml/),
  });
  expect(JSON.parse(await readFile(join(cwd, "tools.schema.json"), "utf8"))).toMatchObject({
    type: "object",
  });
  expect(await run("--init")).toMatchObject({ code: 2, stderr: expect.stringMatching(/exists already/) });
  expect(await run("--check")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^yes {2}command count_lines: \/.*\/wc\n/),
  });
  expect(await run("tools.yaml", "--dry-run", "count_lines", "file=my notes.md")).toMatchObject({
    code: 0,
    stdout: `wc -l -- 'my notes.md'\nin ${cwd}\n`,
  });
  expect(await run("tools.yaml", "--dry-run", "count_line")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/has no tool "count_line". Did you mean "count_lines"\?/),
  });
});

it("says where a file is wrong, and which programs are missing", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "tools.json"), '{ "tools": {\n  "a": { "commando": ["ls"] } } }');
  const wrong = await runMain(["serve", "tools.json"], { cwd });
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/tools\.json:2:10: .*Did you mean command\?/),
  });
  await writeFile(join(cwd, "tools.json"), '{ "tools": { "a": { "command": ["no-such-program"] } } }');
  expect(await runMain(["serve", "tools.json", "--check"], { cwd })).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(
      /^no {2}command a: no folder of PATH has a program no-such-program\nyes {2}store: /,
    ),
  });
  expect(await runMain(["serve", "away.yaml"], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/away\.yaml.*holdfast serve --init/s),
  });
});

it("prints the schema of the file, which the package has, too", async () => {
  const { stdout } = await runMain(["serve", "--schema"], { cwd: await folder() });
  expect(Object.keys((JSON.parse(stdout) as { properties: object }).properties)).toContain("openapi");
  await expect(stdout).toMatchFileSnapshot("../../templates/tools.schema.json");
});

it("looks at all that a file needs, and creates nothing", async () => {
  const cwd = await folder();
  const refusing = createServer((_, response) => void response.writeHead(401).end());
  const port = await listen(refusing, "127.0.0.1", 0);
  onTestFinished(() => void refusing.close());
  const text = `
tools:
  a: { command: [node, -v] }
  b: { command: [no-such-program] }
  c: { http: { url: "http://localhost:${port}/jobs", allow: [localhost], credentials: { bearer: x } } }
mcp: { d: { command: no-such-program } }
`;
  await writeFile(join(cwd, "tools.yaml"), text);
  const { code, stdout } = await runMain(["doctor", "tools.yaml"], { cwd });
  expect(code).toBe(2);
  expect(stdout).toMatch(/^command a +yes +\//m);
  expect(stdout).toMatch(/^command b +no +no folder of PATH has a program no-such-program$/m);
  expect(stdout).toMatch(/^http c +- +http:\/\/localhost:\d+ answers \(HTTP 401\): it may not accept/m);
  expect(stdout).toMatch(/^mcp d +no /m);
  expect(stdout).toMatch(/^store +yes +.*tasks\.db is created/m);
  expect(await readdir(cwd)).toEqual(["tools.yaml"]);
  await writeFile(
    join(cwd, "tools.yaml"),
    "tools: { a: { command: [node] } }\nstore: sqlite:away/tasks.db\n",
  );
  const { checks } = JSON.parse((await runMain(["doctor", "tools.yaml", "--json"], { cwd })).stdout) as {
    checks: readonly unknown[];
  };
  expect(checks).toHaveLength(2);
  await writeFile(join(cwd, "tools.yaml"), "tools: { a: { command: [node] } }\nstore: mysql://x\n");
  expect(await runMain(["doctor", "tools.yaml"], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${join(cwd, "tools.yaml")}: store must be`),
  });
  expect(
    await runMain(["doctor", "tools.yaml"], { cwd, env: { HOLDFAST_STORE: "mysql://x" } }),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^holdfast: HOLDFAST_STORE must be/),
  });
  await writeFile(join(cwd, "tools.yaml"), "tools: { a: { command: [node] } }\nlisten: localhost\n");
  expect(await runMain(["doctor", "tools.yaml"], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tools.yaml: listen must be a port, HOST:PORT or stdio, not "localhost"'),
  });
});
