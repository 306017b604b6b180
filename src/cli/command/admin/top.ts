import { fit, sanitizeText } from "../../terminal/text.ts";
import type { AdminTaskState } from "../../../admin/admin.ts";
import type { Admin } from "../../../admin/operations.ts";
import { systemClock } from "../../../client/clock.ts";
import type { Context } from "../../context.ts";
import { type ExitCode, exitCodes, interruptedBy } from "../../errors.ts";
import type { TopJson } from "../../output/json-shapes.ts";
import { timeText } from "../../output/amounts.ts";
import { KeyWatch } from "../../terminal/signal-watch.ts";
import { movesCursor } from "../../terminal/in-foreground.ts";
import { adminFailure, type AdminSession, withAdmin } from "./with-admin.ts";
import { countTable, taskTable, totalsText } from "./task-table.ts";

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

export interface TopOptions {
  readonly once?: true;
}

const refreshMs = 1_000;
const openStates: readonly AdminTaskState[] = ["running", "input_required", "blocked", "waiting", "queued"];
/** The number of unfinished tasks to list if the room for them is unknown. */
const usualTasks = 20;

/** `holdfast admin STORE top`: shows each tool's load and the newest unfinished tasks. On a terminal it refreshes them. */
export async function top(
  context: Context,
  { place, options }: { readonly place: string; readonly options: TopOptions },
): Promise<ExitCode> {
  const { output, io } = context;
  return withAdmin(context, { place, options: {}, endsItself: true }, async (session) => {
    const isLive = !output.json && options.once !== true && movesCursor(io.stdout, io.env);
    if (isLive) return watch(context, place, session);
    const json = await readTop(session.admin, usualTasks);
    return output.say({ json, text: frame(json, place, session.now(), output.columns) });
  });
}

async function watch(
  { io }: Context,
  place: string,
  { admin, now, interrupts }: AdminSession,
): Promise<ExitCode> {
  const { stdin, stdout } = io;
  const left = new AbortController();
  const ended = AbortSignal.any([left.signal, interrupts.signal]);
  const onKey = (key: string): void => (key === "q" ? left.abort() : undefined);
  using screen = new LiveScreen(stdout);
  using _keys = stdin.isTTY ? new KeyWatch(stdin, () => interrupts.press(), onKey) : undefined;
  for (let isFirst = true; !ended.aborted; isFirst = false) {
    try {
      const document = await readTop(admin, stdout.rows);
      screen.draw(`${frame(document, place, now(), stdout.columns)}\nq quits`);
    } catch (error) {
      const failure = adminFailure(error);
      if (isFirst || !(failure instanceof Error)) throw error;
      screen.draw(`${timeText(io.now())}  ${failure.message}\n\nq quits`); // the server may come back
    }
    await systemClock.sleep(refreshMs, ended).catch(() => undefined); // a key ends it early
  }
  return interrupts.signal.aborted ? interruptedBy(interrupts) : exitCodes.done;
}

async function readTop(admin: Admin, limit: number): Promise<TopJson> {
  const [counts, { tasks }] = await Promise.all([
    admin.counts(),
    admin.list({ states: openStates, limit: Math.max(1, limit) }),
  ]);
  return { counts, tasks };
}

function frame({ counts, tasks }: TopJson, place: string, now: number, cells: number | undefined): string {
  const head = fit(`${timeText(now)}  ${placeText(place)}`, cells ?? Infinity, true);
  return [`${head}\n${totalsText(counts)}`, countTable(counts, cells), taskTable(tasks, now, cells)].join(
    "\n",
  );
}

/** A URL may contain a password. */
function placeText(place: string): string {
  return place.replace(/\/\/[^/@]*@/, "//").replace(/\?.*$/s, "");
}
