import type * as Clack from "@clack/prompts";
import { wrappedNote } from "../output/table.ts";
import type { Io } from "../io.ts";
import { sanitizeLine } from "./text.ts";
import type { SignalWatch } from "./signal-watch.ts";

/** The width of the mark that clack draws before each row. */
const markWidth = 3;

/** The user left the prompt by Escape or Ctrl-D. */
export const escaped = Symbol("escaped");

export interface PromptOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

/**
 * Prompts on a terminal by clack, which is loaded with the first one. A prompt rejects with the signal's reason
 * when that aborts, and stays on the screen. Texts must be sanitized.
 */
export class Prompts {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #onCtrlC: () => void;

  /** `onCtrlC` is called for Ctrl-C, which prompts read as a key. It has to abort the prompt's signal. */
  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, onCtrlC: () => void) {
    this.#input = input;
    this.#output = output;
    this.#onCtrlC = onCtrlC;
  }

  /** Prints text between prompts. */
  async message(text: string): Promise<void> {
    const { log } = await import("@clack/prompts");
    log.step(wrappedNote(text, this.#output.columns - markWidth), { output: this.#output });
  }

  /** Asks for one line. `check` returns what is wrong with it, as a sentence. */
  async text(
    message: string,
    initialValue: string,
    check: (text: string) => string | undefined,
    signal: AbortSignal,
  ): Promise<string | typeof escaped> {
    return this.#run(signal, async ({ text }, common) =>
      text({ ...common, message, initialValue, validate: (value = "") => check(value) }),
    );
  }

  /** Asks for one of several options, starting at `initialValue`. */
  async choose<Value extends string>(
    message: string,
    options: readonly PromptOption<Value>[],
    initialValue: Value,
    signal: AbortSignal,
  ): Promise<Value | typeof escaped> {
    return this.#run(signal, async ({ select }, common) =>
      select<string>({ ...common, message, options: [...options], initialValue }),
    ) as Promise<Value | typeof escaped>;
  }

  /** Asks for yes or no, starting at no. The keys `y` and `n` answer at once. */
  async agrees(message: string, signal: AbortSignal): Promise<boolean> {
    return (
      (await this.#run(signal, async ({ confirm: ask }, common) =>
        ask({ ...common, message, initialValue: false, vertical: true }),
      )) === true
    );
  }

  /** Asks for any number of options. */
  async chooseSeveral(
    message: string,
    options: readonly PromptOption<string>[],
    initialValues: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[] | typeof escaped> {
    return this.#run(signal, async ({ multiselect }, common) =>
      multiselect<string>({ ...common, message, options: [...options], initialValues, required: false }),
    );
  }

  async #run<Value>(
    signal: AbortSignal,
    prompt: (clack: typeof Clack, common: Clack.CommonOptions) => Promise<Value | typeof Clack.CANCEL_SYMBOL>,
  ): Promise<Value | typeof escaped> {
    const clack = await import("@clack/prompts");
    signal.throwIfAborted();
    for (;;) {
      const { answer, continued } = await once(this.#input, signal, this.#onCtrlC, async (left) =>
        prompt(clack, { input: this.#input, output: this.#output, signal: left }),
      );
      signal.throwIfAborted();
      // The shell has overwritten the prompt, and readline has stopped reading: show it again.
      if (continued) continue;
      return clack.isCancel(answer) ? escaped : answer;
    }
  }
}

/** Shows a prompt once. Ends early when the program continues after Ctrl-Z. */
async function once<Answer>(
  input: NodeJS.ReadStream,
  signal: AbortSignal,
  onCtrlC: () => void,
  prompt: (left: AbortSignal) => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly continued: boolean }> {
  // A signal for this prompt only: clack keeps listening to it after the prompt, and writes when it aborts.
  const left = new AbortController();
  let continued = false;
  const leave = (): void => left.abort();
  const onKey = (_text: string | undefined, { ctrl, name }: Key): void => {
    if (ctrl === true && name === "c") onCtrlC();
    // readline ends on Ctrl-D, and clack does not notice.
    if (ctrl === true && name === "d") leave();
  };
  const onContinue = (): void => {
    continued = true;
    setImmediate(leave); // after readline has handled SIGCONT
  };
  signal.addEventListener("abort", leave, { once: true });
  input.on("keypress", onKey);
  process.on("SIGCONT", onContinue);
  try {
    return { answer: await prompt(left.signal), continued };
  } finally {
    input.off("keypress", onKey);
    process.off("SIGCONT", onContinue);
    signal.removeEventListener("abort", leave);
    input.pause();
  }
}

interface Key {
  readonly ctrl?: boolean;
  readonly name?: string;
}

/** Asks on the terminal whether to go on. An interrupt means no. */
export async function confirm(
  { stdin, stderr }: Pick<Io, "stdin" | "stderr">,
  question: string,
  { signal, press }: Pick<SignalWatch, "signal" | "press">,
): Promise<boolean> {
  const prompts = new Prompts(stdin, stderr, press);
  try {
    return await prompts.agrees(sanitizeLine(question), signal);
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
