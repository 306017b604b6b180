import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const page = await readFile(new URL("examples/README.md", root), "utf8");
const { scripts } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as { scripts: object };
const commands = [...page.matchAll(/\| `npm (.+?)` +\|/g)].map(([, command = ""]) => command);

it("names every folder of examples/", async () => {
  const entries = await readdir(new URL("examples/", root), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(folders.filter((name) => !page.includes(`[${name}/](${name}/`))).toEqual([]);
});

it("names every program at the top of a folder", async () => {
  const folders = [
    "readme",
    "recipes",
    "guides",
    "authentication",
    "hosting",
    "job-front",
    "sdk-v1",
    "testing",
    "use-cases",
  ];
  for (const folder of folders) {
    for (const name of await readdir(new URL(`examples/${folder}/`, root))) {
      if (name.endsWith(".ts")) expect(page).toContain(`(${folder}/${name})`);
    }
  }
});

it("starts each with a script and a file that there are", async () => {
  expect(commands.length).toBeGreaterThan(10);
  for (const command of commands) {
    const [script = "", file] = command.replace(/^run /, "").replace("--silent ", "").split(" ");
    expect(Object.keys(scripts)).toContain(script);
    if (file !== undefined) await expect(readFile(new URL(file, root))).resolves.toBeDefined();
  }
});
