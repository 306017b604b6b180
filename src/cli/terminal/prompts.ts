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
    // One of its own: clack goes on listening to the signal when the prompt is over, and writes when it aborts.
    const left = new AbortController();
    const onAbort = (): void => left.abort();
    const onKey = (_text: string | undefined, key: Key): void => {
      if (key.ctrl === true && key.name === "c") this.#onCtrlC();
      // readline ends at Ctrl-D, and clack does not notice.
      if (key.ctrl === true && key.name === "d") left.abort();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#input.on("keypress", onKey);
    try {
      const answer = await prompt(clack, { input: this.#input, output: this.#output, signal: left.signal });
      signal.throwIfAborted();
      return clack.isCancel(answer) ? escaped : answer;
    } finally {
      this.#input.off("keypress", onKey);
      signal.removeEventListener("abort", onAbort);
    }
  }
}

interface Key {
  readonly ctrl?: boolean;
  readonly name?: string;
}
