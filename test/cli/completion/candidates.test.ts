import { expect, it } from "vitest";
import { candidates, wordsOf } from "../../../src/cli/command/completion.ts";
import type { Context } from "../../../src/cli/context.ts";
import { makeProgram } from "../../../src/cli/program.ts";

const url = "http://127.0.0.1:3000/mcp";

const known = {
  servers: async () => [url, "reports", "node server.js"],
  inFolder: async () => ["reports", "files"],
  tools: async (server: string | undefined) =>
    server === "reports" ? ["publish"] : ["publish", "greet", "--evil", "be\u001bl", "$(reboot)"],
  sessions: async () => ["@page"],
  tasks: async () => ["01a2", "01b3"],
  files: async (start: string) => ["notes.md", "sub/"].filter((file) => file.startsWith(start)),
};

const io = { stdout: { write: () => true }, stderr: { write: () => true } };
const program = await makeProgram({ io, output: { json: true } } as unknown as Context, () => undefined, [
  "admin",
]);

it.each([
  ["holdfast ca", ["call", "cancel"]],
  ["/usr/bin/holdfast completi", ["completion"]],
  ["holdfast call ", [url, "reports", "node server.js", "@page"]],
  ["holdfast call reports publish text=@no", ["text=@notes.md"]],
  ["holdfast call reports publish text:=@", ["text:=@notes.md", "text:=@sub/"]],
  ["holdfast call reports publish text=@@no", []],
  ["holdfast @", ["@page"]],
  ["holdfast @page pin", ["ping"]],
  ["holdfast @page result 01a", ["01a2"]],
  ["holdfast call re", ["reports"]],
  [`holdfast call ${url} `, ["publish", "greet", "$(reboot)"]],
  ["holdfast call reports p", ["publish"]],
  ["holdfast tools reports ", ["publish"]],
  ["holdfast call 'node server.js' gr", ["greet"]],
  ["holdfast call 'node", ["node server.js"]],
  ["holdfast call reports publish ", []],
  ["holdfast call reports publish --de", ["--detach"]],
  ["holdfast call --timeout 5 re", ["reports"]],
  ["holdfast call --timeout ", []],
  ["holdfast call greet -- node ", []],
  ["holdfast result ", ["last", "01a2", "01b3"]],
  ["holdfast result 01a", ["01a2"]],
  ["holdfast result 01a2 --ser", ["--server"]],
  ["holdfast result 01a2 --server re", ["reports"]],
  [
    "holdfast ls --",
    [
      "--json",
      "--config",
      "--trust",
      "--pass-env",
      "--token",
      "--header",
      "--protocol",
      "--connect-timeout",
      "--insecure",
      "--verbose",
      "--record",
      "--all",
      "--refresh",
      "--server",
      "--timeout",
      "--help",
    ],
  ],
  ["holdfast trust ", ["reports", "files"]],
  ["holdfast prompt reports ", []],
  ["holdfast read ", [url, "reports", "node server.js", "@page"]],
  ["holdfast close ", ["@page"]],
  ["holdfast @page call ", ["publish", "greet", "$(reboot)"]],
  ["holdfast complete reports ", ["prompt", "resource"]],
  ["holdfast result last --sa", ["--save"]],
  ["holdfast help ans", ["answer"]],
  ["holdfast completion ", ["bash", "zsh", "fish"]],
  ["holdfast journal ", ["ls", "export"]],
  ["holdfast journal export --o", ["--output"]],
  ["holdfast admin ", []],
  ["holdfast admin tasks.db ret", ["retry"]],
  ["holdfast admin tasks.db retry --dry", ["--dry-run"]],
  ["holdfast admin tasks.db show ", []],
  ["holdfast --ver", ["--version"]],
  ["holdfast nothing ", []],
])("%s", async (line, words) => {
  expect(await candidates(program, wordsOf(line), known)).toEqual(words);
});

it("begins with all commands", async () => {
  const all = await candidates(program, wordsOf("holdfast "), known);
  expect(all).toEqual([...program.commands.map((command) => command.name()), "help"]);
});
