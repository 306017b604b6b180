import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
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
    stdout: "no  command a: no folder of PATH has a program no-such-program\n",
  });
  expect(await runMain(["serve", "away.yaml"], { cwd })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/away\.yaml.*holdfast serve --init/s),
  });
});
