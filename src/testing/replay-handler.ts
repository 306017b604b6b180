import { durable } from "../server/durable/durable.ts";
import { createTasks, type Tasks } from "../server/tasks.ts";
import type { JournalRecording } from "../store/export-journal.ts";
import { memoryStore } from "../store/sqlite/memory-store.ts";
import { checkReplay, missingHandler, type CheckReplayOptions, type ReplayCheck } from "./check-replay.ts";
import type { DurableFactory, Register } from "./test-server.ts";

/** What `replayHandler` found. */
export interface ReplayReport {
  /** True if this code continues all of the tasks in the same way as the recorded code. */
  readonly ok: boolean;
  /** In the order of the recordings. */
  readonly journals: readonly ReplayedJournal[];
}

/** What became of one recording. */
export interface ReplayedJournal extends Omit<ReplayCheck, "end" | "outcome"> {
  readonly taskId: string;
  readonly tool: string;
  /** The version of the tool with which the task began; null if it had not begun. */
  readonly toolVersion: number | null;
  /** As in `ReplayCheck`. `blocked`: there is no such tool, or only an older version of it. */
  readonly end: ReplayCheck["end"] | "blocked";
}

/** Recordings that are checked at the same time. */
const atOnce = 8;

/**
 * Runs each recorded task's handler on its journal, as `checkReplay` does, and reports which tasks a deploy of this code would block or send
 * another way, with the keys that it has lost. Takes what `createTasks` returned, or a function that adds the tools, as `testTasks` does.
 *
 * ```ts
 * const { journals } = await replayHandler((tasks) => addReport(tasks), recordings);
 * assert.deepEqual(journals.flatMap(({ problems }) => problems), []);
 * ```
 *
 * Rejects with `configuration` for an invalid recording.
 */
export async function replayHandler(
  tested: Tasks | Register | DurableFactory,
  recordings: Iterable<JournalRecording>,
  options: CheckReplayOptions = {},
): Promise<ReplayReport> {
  const { tasks, stop } = await tasksOf(tested);
  try {
    const all = [...recordings];
    const journals = new Map<number, ReplayedJournal>();
    const waiting = all.entries(); // of which each worker takes the next
    const work = async (): Promise<void> => {
      for (const [place, recording] of waiting)
        journals.set(place, await replayed(tasks, recording, options));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    const inOrder = [...journals].sort(([a], [b]) => a - b).map(([, journal]) => journal);
    return { ok: inOrder.every(({ ok }) => ok), journals: inOrder };
  } finally {
    await stop?.();
  }
}

async function tasksOf(
  tested: Tasks | Register | DurableFactory,
): Promise<{ readonly tasks: Tasks; readonly stop?: () => Promise<void> }> {
  if (typeof tested === "function") {
    const tasks = createTasks({ store: memoryStore() });
    await tested(tasks);
    return { tasks };
  }
  if (!("durable" in tested)) return { tasks: tested };
  const server = durable(tested.durable, { store: memoryStore() });
  await tested.register?.(server.tasks);
  await server.start(); // from then on it has the tools
  return { tasks: server.tasks, stop: () => server.tasks.stop() };
}

async function replayed(
  tasks: Tasks,
  recording: JournalRecording,
  options: CheckReplayOptions,
): Promise<ReplayedJournal> {
  const { taskId, tool, toolVersion } = recording;
  const of = { taskId, tool, toolVersion };
  const missing = missingHandler(tasks, recording);
  if (missing === undefined) {
    const { outcome: _, ...found } = await checkReplay(tasks, recording, options);
    return { ...of, ...found };
  }
  const unreached = recording.entries.map(({ key }) => key);
  return {
    ...of,
    ok: false,
    problems: [missing],
    added: [],
    unreached,
    renamed: {},
    changed: [],
    end: "blocked",
  };
}
