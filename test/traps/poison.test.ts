import { expect, test } from "vitest";
import { fullForm } from "../full-form.ts";
import { runChild } from "../store/sqlite/child.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";

const temp = useTempDirectory();
const program = new URL("./poisoned-server.ts", import.meta.url);
const keys = [0, 1, 2, 3, 4, 5, 6, 7];

/** An abort is meant; its memory image is of no use to anybody. */
const withoutCoreDump = (command: readonly string[]) => [
  "sh",
  "-c",
  'ulimit -c 0 && exec "$@"',
  "sh",
  ...command,
];

test.each(fullForm ? ["exit", "abort"] : ["abort"])(
  "a task that ends its process (%s) is given up after 5 crashes, and its neighbours finish",
  { timeout: 60_000 },
  async (death) => {
    const lines: string[] = [];
    const idsOf = () => lines.filter((line) => line.startsWith("task ")).map((line) => line.slice(5));
    let lives = 0;
    while (!lines.some((line) => line.startsWith("end quick")) && lives < 10) {
      const child = runChild(program, [temp.path(), death, ...idsOf()], withoutCoreDump);
      lines.push(...(await child.rest()));
      lives++;
    }
    expect(lives).toBe(6); // five that the poison ended, and the one that gave it up

    const end = (name: string) => lines.find((line) => line.startsWith(`end ${name} `)) ?? "";
    expect(end("poison")).toContain("the server crashed 5 times");
    expect(end("one-by-one")).toContain('"text":"one by one"');
    expect(end("side-by-side")).toContain('"text":"side by side"');
    expect(end("asks")).toContain('"text":"accept"');
    expect(end("quick")).toContain('"text":"quick"');
    for (const name of ["one-by-one", "side-by-side"]) {
      const ran = lines.filter((line) => line.startsWith(`ran ${name} `));
      expect(ran.toSorted()).toEqual(keys.map((key) => `ran ${name} ${key}`));
    }
  },
);
