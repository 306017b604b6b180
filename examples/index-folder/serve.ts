import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { storeFromUrl } from "holdfast/store";
import { serveIndexFolder } from "./serve-index-folder.ts";

const storeUrl = process.env["HOLDFAST_STORE"] ?? "sqlite:.holdfast/index-folder.db";
const reportFolder = join(".holdfast", "reports");

try {
  const { url } = await serveIndexFolder({
    tasks: { store: storeFromUrl(storeUrl) },
    port: portOf(process.env["PORT"] ?? "3000"),
    reportFolder,
    keepOut: () => databaseFiles(storeUrl),
  });
  console.log(howToConnect(url));
} catch (error) {
  // Errors here are for the person who starts the server, and the message says what to do.
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new Error(`PORT is ${JSON.stringify(text)}. Give a number up to 65535, or 0 for any free port.`);
}

/** The database, and the log and the lock beside it: their paths begin the same. */
async function databaseFiles(url: string): Promise<string[]> {
  const [, path] = /^sqlite:(?:\/\/(?=\/))?(.+)$/s.exec(url) ?? [];
  return path === undefined ? [] : [await realpath(path)];
}

function howToConnect(url: string): string {
  const afterwards =
    storeUrl === "memory:" ? "and forgets them" : "and unfinished tasks go on at the next start";
  return `index_folder is served at ${url}
Tasks are in ${storeUrl}, reports in ${reportFolder}.
Ctrl-C stops, ${afterwards}.

To connect, take any MCP client that can be asked questions (elicitation),
with tasks or without, and call index_folder with
{"folder": "/path/of/a/folder"}. Or, from another terminal:

  npm run --silent example dist/cli.js call ${url} index_folder folder=src

Or, in a script in this repository:

    import { connect } from "holdfast/client";

    const client = await connect("${url}", {
      onInput: async () => ({ action: "accept", content: { write: true } }),
    });
    const onUpdate = (task) => console.log(task.statusMessage ?? task.status);
    const args = { folder: "src" };
    const result = await client.callTool("index_folder", args, { onUpdate });
    console.log(result.content[0].text);
    await client.close();
`;
}
