import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { newFolder, runExample, serveExample } from "../docs/example-process.ts";

const root = new URL("../../examples/", import.meta.url);
const page = await readFile(new URL("README.md", root), "utf8");
const rows = [
  ...page.matchAll(/^\|[^|]*\| `npm run (?:--silent )?example examples\/([\w/-]+\.ts)` *\| (.*) \|$/gm),
].map(([, file = "", text = ""]) => ({ file, text }));

/** These need a server of another example, speak on stdin, end by themselves, or download; other tests run them. */
const others = [
  /(?:client|pending|login|save-export)\.ts$/,
  /(?:stdio|retries|sdk-v1\/server)\.ts$/,
  /(?:\.test|check-recordings)\.ts$/,
  /gateway\/server\.ts$/,
];
const started = rows.filter(({ file }) => !others.some((each) => each.test(file)));

describe("an example by its command alone", { timeout: 60_000 }, () => {
  it.each(started)("$file starts, or says in one line which variable it needs", async ({ file, text }) => {
    const folder = await newFolder();
    if (/throw new Error\("Set /.test(await readFile(new URL(file, root), "utf8"))) {
      const [, said = ""] = /^Error: Set (.*)$/m.exec(await runExample(file, [], folder)) ?? [];
      const variables = said.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
      expect(variables.length).toBeGreaterThan(0);
      for (const name of variables) expect(text).toContain(`\`${name}\``);
    } else {
      const server = await serveExample(file, folder, { HOLDFAST_PORT: "0" });
      expect(server.url).toMatch(/https?:\/\/\S+$/);
      server.signal("SIGKILL");
    }
  });
});
