import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { named, type Place, type Transport } from "../cli/screens/servers.ts";
import type { Shell } from "../cli/screens/shell.ts";
import { showsScreens } from "../cli/screens/shows-screens.ts";
import { keys } from "../cli/terminal/pty.ts";
import { startOnPort } from "../interop/our-client-everything.ts";

const script = fileURLToPath(new URL("./clients/fastmcp-server.ts", import.meta.url));

async function fastMcp(transport: Transport): Promise<Place> {
  return transport === "stdio"
    ? named("notes", [script, "stdio"])
    : { server: await startOnPort([script], "PORT") };
}

/** On a server without tasks: calls that are waited for, a question within a call, and nothing to come back to. */
async function walk(shell: Shell, server: string): Promise<void> {
  await shell.runs(`holdfast tools ${server}`);
  await shell.runs(`holdfast tools ${server} add`);
  await shell.runs(`holdfast call ${server} add a=1 b=2`);
  await shell.runs(`holdfast call ${server} ad a=1 b=2`);
  await shell.runs(`holdfast call ${server} add a=one b=2`);
  await shell.runs(`holdfast call ${server} fail`);
  await shell.runs(`holdfast call ${server} add a=1 b=2 --detach`);

  shell.types(`holdfast call ${server} greet`);
  await shell.sees(/◆ {2}Name[^]*└/);
  shell.press("Ann", keys.enter);
  await shell.sees(/● Send[^]*└/);
  shell.keeps();
  shell.press(keys.enter);
  await shell.ends();

  shell.types(`holdfast call ${server} copy`);
  await shell.sees(/copied 2 files.*s$/m);
  shell.keeps();
  shell.press(keys.ctrlC);
  await shell.ends();
  await shell.runs("holdfast ls");
  await shell.runs(`holdfast doctor ${server}`);
}

describe("the screens of a person with a server on FastMCP", () => {
  showsScreens("fastmcp-http", { place: async () => fastMcp("http"), walk });
  showsScreens("fastmcp-stdio", { place: async () => fastMcp("stdio"), walk, isWide: true });
});
