import { keys } from "../terminal/pty.ts";
import type { Shell } from "./shell.ts";

const { ctrlC, down, enter } = keys;

/** Finds a tool, calls it, is asked, and names its tasks by numbers, on the server of `reports-server.ts`. */
export async function oursWalk(shell: Shell, server: string): Promise<void> {
  await shell.runs(`holdfast tools ${server}`);
  await shell.runs(`holdfast tools ${server} publish_report`);
  await shell.runs(`holdfast call ${server} shout word=hi`);
  await shell.runs(`holdfast call ${server} shuot word=hi`);
  await shell.runs(`holdfast call ${server} shout wrod=hi`);

  shell.types(`holdfast call ${server} publish_report month=2026-10`);
  await shell.sees(/● Everyone[^]*└/);
  shell.keeps();
  shell.press(down);
  await shell.sees(/● The staff/);
  shell.press(enter);
  await shell.sees(/◆ {2}Note/);
  shell.press("final figures");
  await shell.sees(/final figures/);
  shell.press(enter);
  await shell.sees(/● Send[^]*└/);
  shell.keeps();
  shell.press(enter);
  await shell.ends();

  await shell.runs(`holdfast call ${server} count_orders year=2026 --detach`);
  await shell.runs("holdfast ls");
  await shell.runs("holdfast result 1");
  await shell.runs("holdfast result last");
  await shell.runs("holdfast logs last");

  shell.types(`holdfast call ${server} archive folder=reports`);
  await shell.sees(/copied 2 of 5.*s$/m);
  shell.keeps();
  shell.press(ctrlC);
  await shell.ends();
  await shell.runs("holdfast ls");
  await shell.runs("holdfast get last");

  shell.types("holdfast watch last");
  await shell.sees(/copied 2 of 5.*s$/m);
  shell.press(ctrlC);
  await shell.sees(/Press Ctrl-C again/);
  shell.press(ctrlC);
  await shell.ends();
  await shell.runs("holdfast ls");
  await shell.runs("holdfast result last");
}
