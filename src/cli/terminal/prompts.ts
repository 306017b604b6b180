import type * as Clack from "@clack/prompts";

/** A prompt that was left by Escape or Ctrl-D, without an answer. */
export const escaped = Symbol("escaped");

export interface PromptOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: string;
}

/**
 * Prompts on a terminal, by clack, which is loaded for the first of them. Each rejects with the signal's reason as soon
 * as that aborts, and leaves what it showed behind. Texts are shown as they are: they must be harmless.
 */
export class Prompts {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #onCtrlC: () => void;

  /** `onCtrlC` does what a signal does elsewhere, and aborts what prompts are given: they read all keys, this one too. */
  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, onCtrlC: () => void) {
    this.#input = input;
    this.#output = output;
    this.#onCtrlC = onCtrlC;
  }

  /** Words between prompts. */
  async tell(text: string): Promise<void> {
    const { log } = await import("@clack/prompts");
    log.step(text, { output: this.#output });
  }

  /** One line. `check` says what is wrong with it, in a sentence. */
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

  /** One of several, which begins with `initialValue`. */
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

  /** Any number of several. */
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
      // The shell has written over it meanwhile, and readline has stopped reading.
      if (continued) continue;
      return clack.isCancel(answer) ? escaped : answer;
    }
  }
}

/** One showing of a prompt, which ends early when the program is continued after a Ctrl-Z. */
async function once<Answer>(
  input: NodeJS.ReadStream,
  signal: AbortSignal,
  onCtrlC: () => void,
  prompt: (left: AbortSignal) => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly continued: boolean }> {
  // One of its own: clack goes on listening to the signal when the prompt is over, and writes when it aborts.
  const left = new AbortController();
  let continued = false;
  const leave = (): void => left.abort();
  const onKey = (_text: string | undefined, { ctrl, name }: Key): void => {
    if (ctrl === true && name === "c") onCtrlC();
    // readline ends at Ctrl-D, and clack does not notice.
    if (ctrl === true && name === "d") leave();
  };
  const onContinue = (): void => {
    continued = true;
    setImmediate(leave); // readline hears of it too, and first has to be done with that
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
