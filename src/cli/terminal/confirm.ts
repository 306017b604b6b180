import type { Io } from "../io.ts";
import { Prompts } from "./prompts.ts";
import { sanitizeLine } from "./sanitize.ts";
import type { SignalWatch } from "./signal-watch.ts";

/** Asks on the terminal whether to go on. An interrupt means no. */
export async function confirm(
  { stdin, stderr }: Pick<Io, "stdin" | "stderr">,
  question: string,
  { signal, press }: Pick<SignalWatch, "signal" | "press">,
): Promise<boolean> {
  const prompts = new Prompts(stdin, stderr, press);
  const options = [
    { value: "no", label: "No" },
    { value: "yes", label: "Yes" },
  ] as const;
  try {
    return (await prompts.choose(sanitizeLine(question), options, "no", signal)) === "yes";
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
