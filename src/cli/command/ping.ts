import { systemClock } from "../../client/clock.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../errors.ts";
import type { PingJson } from "../output/base-json-shapes.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { request, serverInfo, withServer } from "../server/with-server.ts";

/** `holdfast ping SERVER` */
export async function ping(context: Context, { server, options }: Given<"ping">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output } = context;
  const start = systemClock.elapsed();
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const connected = systemClock.elapsed();
    await askForAnything(client, signal);
    const document: PingJson = {
      server: serverInfo(client),
      protocolVersion: client.sdk.getNegotiatedProtocolVersion() ?? "",
      connectMs: Math.round(connected - start),
      pingMs: Math.round(systemClock.elapsed() - connected),
    };
    terminal.display.end();
    if (output.json) await output.printJson(document);
    else await output.print(text(document));
    return exitCodes.done;
  });
}

/** Revision 2026-07-28 has no ping, so another request shows whether the server answers. */
async function askForAnything({ sdk }: TaskClient, signal: AbortSignal): Promise<void> {
  await request(
    async (how) => (sdk.getProtocolEra() === "modern" ? sdk.discover(how) : sdk.ping(how)),
    signal,
  );
}

function text({ server, protocolVersion, connectMs, pingMs }: PingJson): string {
  const name = [server.name, server.version].filter((part) => part !== "").join(" ") || "the server";
  return `${name} answers in ${pingMs} ms, over MCP ${protocolVersion}\nconnecting took ${connectMs} ms\n`;
}
