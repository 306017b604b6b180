import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const folder = join(import.meta.dirname, "wrong");
/** Of those, and of the right programs. */
const project = import.meta.dirname;

/** What the compiler says of each program, with the lines of each message. */
async function messages(): Promise<ReadonlyMap<string, readonly (readonly string[])[]>> {
  const tsc = promisify(execFile)("tsc", ["-p", project, "--pretty", "false", "--singleThreaded"], {
    cwd: project,
  });
  const { stdout } = await tsc.catch((failed: { readonly stdout: string }) => failed);
  const found = new Map<string, string[][]>();
  let last: string[] = [];
  for (const line of stdout.split("\n").filter((text) => text !== "")) {
    const [, file, text] = /^(\S+)\(\d+,\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
    if (file === undefined || text === undefined) last.push(line);
    else {
      last = [text];
      found.set(file, [...(found.get(file) ?? []), last]);
    }
  }
  return found;
}

it("refuses each wrong program with one message of at most three lines that names the mistake", async () => {
  const programs = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const said = await messages();
  const problems = programs.flatMap((name) => {
    const [, named = ""] =
      /^\/\/ The message names: (.*)$/m.exec(readFileSync(join(folder, name), "utf8")) ?? [];
    const [first, ...others] = said.get(`wrong/${name}`) ?? [];
    if (first === undefined) return [`${name}: is compiled`];
    const isNamed = first.join("\n").replaceAll('\\"', '"').includes(named);
    return isNamed && first.length <= 3 && others.length === 0
      ? []
      : [`${name}: ${[first, ...others].flat().join("\n")}`];
  });
  expect(problems).toEqual([]);
  expect([...said.keys()].filter((file) => !file.startsWith("wrong/"))).toEqual([]);
});
