import { keys } from "../terminal/pty.ts";
import type { Shell } from "./shell.ts";

const { ctrlC, enter } = keys;

/** On the SDK's example of a server over HTTP. */
export async function sdkOverHttp(shell: Shell, server: string): Promise<void> {
  await shell.runs(`holdfast tools ${server}`);
  await shell.runs(`holdfast tools ${server} collect-user-info-task`);
  await shell.runs(`holdfast call ${server} greet name=Ann`);
  await shell.runs(`holdfast call ${server} gret name=Ann`);

  shell.types(`holdfast call ${server} collect-user-info infoType=contact`);
  await shell.sees(/◆ {2}Full Name/);
  shell.press("Ann", enter);
  await shell.sees(/◆ {2}Email/);
  shell.press("ann at home", enter);
  await shell.sees(/▲ {2}Email[^]*└/);
  shell.keeps();
  shell.press(...Array.from({ length: " at home".length }, () => keys.backspace), "@example.com", enter);
  await shell.sees(/◆ {2}Phone/);
  shell.press(enter);
  await shell.sees(/● Send[^]*└/);
  shell.press(enter);
  await shell.ends();

  await shell.runs(`holdfast call ${server} delay duration=10`);
  await shell.runs(`holdfast call ${server} delay duration=600000 --detach`);
  await shell.runs("holdfast ls");
  shell.types("holdfast result last");
  await shell.sees(/delay \d+s$/m);
  shell.keeps();
  shell.press(ctrlC);
  await shell.ends();
  await shell.runs("holdfast get last");
  await shell.runs("holdfast cancel last");
  await shell.runs("holdfast ls");
  await shell.runs("holdfast forget last");
  await shell.runs("holdfast ls");
}

/** On the SDK's example of structured output over stdio, whose weather is random. */
export async function sdkOverStdio(shell: Shell, server: string): Promise<void> {
  shell.hides(/(?<="(?:celsius|fahrenheit|humidity|speed_kmh)": )-?[\d.]+/g, "0");
  shell.hides(/(?<="(?:conditions|direction)": )"\w+"/g, '"?"');
  await shell.runs(`holdfast tools ${server}`);
  await shell.runs(`holdfast tools ${server} get_weather`);
  await shell.runs(`holdfast call ${server} get_weather city=Oslo`);
  await shell.runs(`holdfast call ${server} get_weather city=Oslo country=NO`);
  await shell.runs(`holdfast doctor ${server}`);
}
