import type { AdminTaskState } from "../../../admin/admin.ts";
import type { Admin } from "../../../admin/operations.ts";
import { systemClock } from "../../../client/clock.ts";
import type { Context } from "../../context.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { TopJson } from "../../output/json-shapes.ts";
import { timeText } from "../../output/times.ts";
import { KeyWatch } from "../../terminal/key-watch.ts";
import { LiveScreen } from "../../terminal/live-screen.ts";
import { fit } from "../../terminal/status-line.ts";
import { movesCursor } from "../../terminal/moves-cursor.ts";
import { adminFailure } from "./admin-failure.ts";
import { countTable, totalsText } from "./counts.ts";
import { taskTable } from "./task-table.ts";
import { withAdmin, type AdminSession } from "./with-admin.ts";

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
    const document = await readTop(session.admin, usualTasks);
    if (output.json) await output.printJson(document);
    else await output.print(frame(document, place, session.now(), output.columns));
    return exitCodes.done;
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
