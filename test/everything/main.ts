import { readSettings } from "./settings.ts";
import { serveEverything, serveEverythingOnStdio } from "./serve-everything.ts";

try {
  const settings = readSettings(process.env);
  if (process.argv.includes("--stdio")) {
    endOnSignal(await serveEverythingOnStdio(settings));
  } else {
    const http = await serveEverything(settings);
    endOnSignal(http);
    // The parent process waits for the URL; nothing else is ever written to stdout.
    process.stdout.write(`${http.url}\n`);
  }
} catch (error) {
  // Errors here are for the person who starts the server, and the message says what to do.
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function endOnSignal(server: { close(): Promise<void> }): void {
  const end = (): void => {
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  // Not `once`: npm repeats the terminal's own Ctrl-C, and the second one would end the process half closed.
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
}
