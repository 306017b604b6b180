import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { RemoteTask } from "../../src/client/task/remote-task.ts";
import { TaskState, type Source } from "../../src/client/task/poll-loop.ts";

/** The history of a task on its server: later states are never older, and some come in the same millisecond. */
const histories = fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 8 }).map((steps) => {
  let at = Date.UTC(2026, 9, 1);
  const states = [0, ...steps].map((step, place): RemoteTask => {
    at += step;
    const base = {
      taskId: "t",
      createdAt: "2026-10-01T00:00:00Z",
      ttlMs: null,
      statusMessage: String(place),
    };
    const isLast = place === steps.length;
    return { ...base, lastUpdatedAt: new Date(at).toISOString(), status: isLast ? "cancelled" : "working" };
  });
  return states;
});

const happenings = fc.array(
  fc.constantFrom("changes", "asks", "answers", "arrives", "tells", "hears", "breaks"),
  { maxLength: 60 },
);

/** One server, one poll at a time, and one stream after another, with everything on its way for as long as chance has it. */
function seen(history: readonly RemoteTask[], happens: readonly string[]): (string | undefined)[] {
  const state = new TaskState();
  const shown: (string | undefined)[] = [];
  let now = 0;
  let poll: { source: Source; answer?: RemoteTask } | undefined;
  let stream: { source: Source; told: number; under: RemoteTask[] } | undefined;
  const current = (): RemoteTask => history[now] as RemoteTask;
  const take = (task: RemoteTask, source: Source): void => {
    if (state.take(task, source, 0) === "updated") shown.push(state.task?.statusMessage);
  };
  const happen: Readonly<Record<string, () => void>> = {
    changes: () => void (now = Math.min(now + 1, history.length - 1)),
    asks: () => void (poll ??= { source: state.source() }),
    answers: () => void (poll !== undefined && (poll.answer ??= current())),
    arrives: () => {
      if (poll?.answer === undefined) return;
      take(poll.answer, poll.source);
      poll = undefined;
    },
    // A stream begins with the state as it is, and goes on with what is newer: some of it is skipped.
    tells: () => {
      stream ??= { source: state.source(), told: -1, under: [] };
      if (stream.told < now) stream.under.push(current());
      stream.told = now;
    },
    hears: () => {
      const task = stream?.under.shift();
      if (task !== undefined && stream !== undefined) take(task, stream.source);
    },
    breaks: () => void (stream = undefined),
  };
  for (const name of happens) happen[name]?.();
  now = history.length - 1;
  take(current(), state.source());
  return shown;
}

it("is one stream of states in their order that ends with the end, however polls and pushes overtake each other", () => {
  fc.assert(
    fc.property(histories, happenings, (history, happens) => {
      const shown = seen(history, happens).map(Number);
      expect(shown).toEqual([...new Set(shown)].toSorted((one, other) => one - other));
      expect(shown.at(-1)).toBe(history.length - 1);
    }),
    { numRuns: 2_000 },
  );
});
