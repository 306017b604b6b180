import { systemClock } from "../../../client/clock.ts";
import type { Context } from "../../context.ts";
import { type ExitCode, exitCodes, interruptedBy } from "../../errors.ts";
import { timeText } from "../../output/table.ts";
import { KeyWatch } from "../../terminal/signal-watch.ts";
import { sanitizeText } from "../../terminal/text.ts";
import type { Page } from "./operation-pages.ts";
import { adminFailure, withAdmin } from "./with-admin.ts";

/** The alternate screen, so that the previous contents come back. */
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const toTop = "\u001b[H";
const clearRest = "\u001b[K";
const clearBelow = "\u001b[J";

/** A full-screen view that is redrawn in place until it is disposed. Cuts text that does not fit. */
class LiveScreen implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  #text = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    stream.write(enter);
    stream.on("resize", this.#onResize);
    process.on("exit", this.#giveBack);
  }

  draw(text: string): void {
    this.#text = text;
    const lines = sanitizeText(text).split("\n");
    const last = lines.at(-1) ?? "";
    const room = Math.max(1, this.#stream.rows - 1);
    // The last line, which says how to quit, stays visible.
    const shown = [...lines.slice(0, -1).slice(0, room), last];
    this.#stream.write(`${toTop}${shown.join(`${clearRest}\r\n`)}${clearRest}${clearBelow}`);
  }

  [Symbol.dispose](): void {
    this.#stream.off("resize", this.#onResize);
    process.off("exit", this.#giveBack);
    this.#giveBack();
  }

  readonly #onResize = (): void => this.draw(this.#text);

  readonly #giveBack = (): void => void this.#stream.write(leave);
}

const refreshMs = 1_000;

/** Shows what `draw` gives until it is left by a key, or interrupted. */
export async function watch(
  context: Context,
  place: string,
  draw: NonNullable<Page<unknown>["live"]>,
): Promise<ExitCode> {
  const { io } = context;
  const { stdin, stdout } = io;
  return withAdmin(context, { place, options: {}, endsItself: true }, async ({ admin, now, interrupts }) => {
    const left = new AbortController();
    const ended = AbortSignal.any([left.signal, interrupts.signal]);
    const onKey = (key: string): void => (key === "q" ? left.abort() : undefined);
    using screen = new LiveScreen(stdout);
    using _keys = stdin.isTTY ? new KeyWatch(stdin, () => interrupts.press(), onKey) : undefined;
    for (let isFirst = true; !ended.aborted; isFirst = false) {
      try {
        const { rows, columns: cells } = stdout;
        screen.draw(`${await draw(admin, { place, now: now(), cells, rows })}\nq quits`);
      } catch (error) {
        const failure = adminFailure(error);
        if (isFirst || !(failure instanceof Error)) throw error;
        screen.draw(`${timeText(io.now())}  ${failure.message}\n\nq quits`); // the server may come back
      }
      await systemClock.sleep(refreshMs, ended).catch(() => undefined); // a key ends it early
    }
    return interrupts.signal.aborted ? interruptedBy(interrupts) : exitCodes.done;
  });
}
