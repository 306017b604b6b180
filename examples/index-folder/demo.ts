// npm run demo -- [FOLDER] [--max-files N] [--page]: a task outlives its server, and the journal proves it.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { conclude } from "./demo/conclusion.ts";
import { demoSetup } from "./demo/demo-setup.ts";
import { nextKey, openInBrowser, pageProcess } from "./demo/page.ts";
import { Screen } from "./demo/screen.ts";
import type { ServerProcess } from "./demo/server-process.ts";
import { Story } from "./demo/story.ts";

interface Choice {
  readonly folder: string;
  readonly limits: { readonly maxFiles?: number };
  /** Whether to show it in a browser, too. */
  readonly page: boolean;
}

function choose(): Choice {
  const { values, positionals } = parseArgs({
    options: { "max-files": { type: "string" }, page: { type: "boolean" } },
    allowPositionals: true,
  });
  const [folder = fileURLToPath(new URL("../../src", import.meta.url)), ...others] = positionals;
  const most = values["max-files"];
  if (others.length > 0) throw new Error("One folder at a time.");
  if (most !== undefined && !/^\d{1,6}$/.test(most)) throw new Error("--max-files needs a number.");
  const { page = false } = values;
  return { folder, limits: most === undefined ? {} : { maxFiles: Number(most) }, page };
}

async function run({ folder, limits, page }: Choice): Promise<boolean> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-demo-")));
  const servers: ServerProcess[] = [];
  // Whatever happened, no process and no file of the demo is left.
  process.on("exit", () => {
    for (const server of servers) server.killNow();
    rmSync(workspace, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      const exit = (): never => process.exit(128 + constants.signals[signal]);
      Promise.all(servers.map((server) => server.kill())).then(exit, exit);
    });
  }
  const setup = demoSetup(workspace, limits);
  const screen = new Screen(process.stdout, process.env);
  const onServer = (server: ServerProcess): void => void servers.push(server);
  let shown: ServerProcess | undefined;
  const showPage = async (): Promise<void> => {
    shown = pageProcess(setup.database);
    onServer(shown);
    const link = await shown.ready();
    screen.note("The page shows the same, and outlives the server:");
    screen.note(link);
    if (process.stdout.isTTY) openInBrowser(link);
  };
  const story = new Story({ folder, setup, screen, onServer, ...(page && { onServing: showPage }) });
  try {
    const proved = await conclude(await story.tell(), setup, screen);
    if (page && process.stdin.isTTY) {
      screen.scene(10, "The page is there until you press a key.");
      await nextKey(process.stdin);
    }
    return proved;
  } finally {
    await shown?.kill();
  }
}

process.stdout.on("error", () => process.exit(1)); // whoever read it has gone

try {
  const proved = await run(choose());
  if (!proved) console.error("The proof does not hold.");
  process.exitCode = proved ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
