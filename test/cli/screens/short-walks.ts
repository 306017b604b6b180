import { keys } from "../terminal/pty.ts";
import type { Shell } from "./shell.ts";

/** What a person sees before there is a server, and when something is mistyped. */
export async function firstMinutes(shell: Shell): Promise<void> {
  await shell.runs("holdfast");
  await shell.runs("holdfast ls");
  await shell.runs("holdfast cal");
  await shell.runs("holdfast call");
  await shell.runs("holdfast help call");
  await shell.runs("holdfast tools reprots");
  await shell.runs("holdfast tools elsewhere");
  await shell.runs("holdfast result 1");
  await shell.runs("holdfast tools reports");
  await shell.runs("holdfast call 127.0.0.1:1/mcp shout word=hi");
}

/** On a server that wants a login. */
export async function login(shell: Shell, server: string): Promise<void> {
  await shell.runs(`holdfast call ${server} shout word=hi`);
  shell.types(`holdfast login ${server} --no-browser`);
  await shell.sees(/Ctrl-C\s+cancels/);
  shell.keeps();
  shell.press(keys.ctrlC);
  await shell.ends();
  shell.types(`holdfast login ${server} --device`);
  await shell.sees(/Ctrl-C\s+cancels/);
  shell.keeps();
  shell.press(keys.ctrlC);
  await shell.ends();
  await shell.runs(`holdfast login ${server}`);
  await shell.runs(`holdfast call ${server} shout word=hi`);
  await shell.runs(`holdfast doctor ${server}`);
  await shell.runs(`holdfast logout ${server}`);
  await shell.runs(`holdfast logout ${server}`);
  await shell.runs(`holdfast call ${server} shout word=hi`);
}
