// The server that the demo kills. It is the one of `npm start`, but it notes every read, and reads slowly.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { sqliteStore } from "holdfast/sqlite";
import { serveIndexFolder } from "../serve-index-folder.ts";
import type { DemoSetup } from "./demo-setup.ts";
import { nthPauseMs } from "./pause-ms.ts";
import type { ReadEvent } from "./read-log.ts";

const { workspace, database, readLog, reportFolder, limits, port } = JSON.parse(
  process.argv[2] ?? "",
) as DemoSetup;

let readsBegun = 0;

function note(event: ReadEvent["event"], path: string): void {
  const entry: ReadEvent = { pid: process.pid, at: Date.now(), event, path };
  appendFileSync(readLog, `${JSON.stringify(entry)}\n`); // synchronous, so that no kill comes in between
}

try {
  const http = await serveIndexFolder({
    tasks: { store: sqliteStore(database), pollIntervalMs: 100 },
    port,
    reportFolder,
    limits,
    keepOut: async () => [workspace],
    watch: {
      async read(path, total, run) {
        note("begin", path);
        const pauseAfterwards = nthPauseMs(total, readsBegun++);
        const result = await run();
        await pause(pauseAfterwards);
        return result;
      },
      kept: (path) => note("kept", path),
    },
  });
  // The demo holds the other end of this pipe, and closes it to end its server in order, as no signal does on Windows. However the
  // demo ends, its server ends too.
  process.stdin.on("end", () => void http.close().finally(() => process.exit(0))).resume();
  console.log(http.url);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
