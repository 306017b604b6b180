import { systemClock } from "../../client/clock.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import type { ExitCode } from "../errors.ts";
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
    const info = serverInfo(client);
    const protocolVersion = client.sdk.getNegotiatedProtocolVersion() ?? "";
    const connectMs = Math.round(connected - start);
    const pingMs = Math.round(systemClock.elapsed() - connected);
    terminal.display.end();
    const name = [info.name, info.version].filter((part) => part !== "").join(" ") || "the server";
    return output.say({
      json: { server: info, protocolVersion, connectMs, pingMs },
      text: `${name} answers in ${pingMs} ms, over MCP ${protocolVersion}\nconnecting took ${connectMs} ms\n`,
    });
  });
}

/** Revision 2026-07-28 has no ping, so another request shows whether the server answers. */
async function askForAnything({ sdk }: TaskClient, signal: AbortSignal): Promise<void> {
  await request(
    async (how) => (sdk.getProtocolEra() === "modern" ? sdk.discover(how) : sdk.ping(how)),
    signal,
  );
}
