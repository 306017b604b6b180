import { keys } from "../terminal/pty.ts";
import type { Shell } from "./shell.ts";

const { ctrlC, down, enter } = keys;

/** On the server that the protocol's makers publish: tasks of 2025-11-25, in memory, and calls that are none. */
export async function everythingWalk(shell: Shell, server: string): Promise<void> {
  await shell.runs(`holdfast tools ${server}`);
  await shell.runs(`holdfast tools ${server} simulate-research-query`);
  await shell.runs(`holdfast call ${server} echo message=hi`);
  await shell.runs(`holdfast call ${server} ehco message=hi`);
  await shell.runs(`holdfast call ${server} get-sum a=2`);
  await shell.runs(`holdfast call ${server} get-structured-content location=Chicago`);
  await shell.runs(`holdfast call ${server} get-tiny-image`);
  await shell.runs(`holdfast call ${server} get-tiny-image --save pictures`);

  await shell.runs(`holdfast ping ${server}`);
  await shell.runs(`holdfast resources ${server}`);
  await shell.runs(`holdfast read ${server} demo://resource/static/document/extension.md`);
  await shell.runs(`holdfast read ${server} demo://resource/static/document/none.md`);
  await shell.runs(`holdfast prompts ${server}`);
  await shell.runs(`holdfast prompt ${server} args-prompt city=Paris`);
  await shell.runs(`holdfast complete ${server} prompt completable-prompt department=En`);

  shell.types(`holdfast call ${server} trigger-long-running-operation duration=600 steps=2`);
  await shell.sees(/calling trigger-long-running-operation.*s$/m);
  shell.keeps();
  shell.press(ctrlC);
  await shell.ends();

  shell.types(`holdfast call ${server} simulate-research-query topic=python ambiguous=true`);
  await shell.sees(/● Python[^]*└/);
  shell.keeps();
  shell.press(down);
  await shell.sees(/● Python snake/);
  shell.press(enter);
  await shell.sees(/● Send[^]*└/);
  shell.press(enter);
  await shell.ends();

  await shell.runs(`holdfast call ${server} simulate-research-query topic=bees --detach`);
  await shell.runs("holdfast ls");
  await shell.runs("holdfast result last");
}
