import { createParser } from "eventsource-parser";
import { HoldfastError } from "../task/fault.ts";
import type { TaskChanges } from "./admin.ts";

/** An endpoint without news sends a sign of life every 15 seconds: one that is silent for this long is gone. */
const silentMs = 45_000;
/** How long to wait before the next try where the endpoint does not say, and at most (ms). */
const usualRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Begins to read the stream of an endpoint, until its signal aborts. Rejects as any other request does. */
export type OpenStream = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/** What an endpoint tells of changes, over as many streams as it takes; the first of each says that any task may have changed. Rejects where it refuses to tell. */
export async function* remoteChanges(
  open: OpenStream,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskChanges, void, undefined> {
  let retryMs = usualRetryMs;
  const onRetry = (ms: number): void => void (retryMs = ms);
  const isOver = (): boolean => signal?.aborted === true;
  for (let failures = 0; !isOver(); failures++) {
    try {
      for await (const changes of oneStream(open, signal, onRetry)) {
        failures = 0;
        yield changes;
      }
    } catch (error) {
      if (isOver()) return;
      if (!mayAnswerLater(error)) throw error;
    }
    if (!isOver()) await pause(Math.min(retryMs * 2 ** failures, longestRetryMs), signal);
  }
}

async function* oneStream(
  open: OpenStream,
  signal: AbortSignal | undefined,
  onRetry: (ms: number) => void,
): AsyncGenerator<TaskChanges, void, undefined> {
  const link = new AbortController();
  const end = (): void => link.abort();
  signal?.addEventListener("abort", end);
  let silence = setTimeout(end, silentMs);
  const told: TaskChanges[] = [];
  const parser = createParser({ onEvent: ({ data }) => told.push(changesIn(data)), onRetry });
  const decoder = new TextDecoder();
  try {
    const reader = (await open(link.signal)).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(silence); // nobody is silent while the reader of what was told takes its time
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* told.splice(0);
      silence = setTimeout(end, silentMs);
    }
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener("abort", end);
    link.abort();
  }
}

function changesIn(data: string): TaskChanges {
  const changes: unknown = JSON.parse(data);
  const tasks: unknown =
    typeof changes === "object" && changes !== null && "tasks" in changes && changes.tasks;
  if (tasks === null) return { tasks };
  if (Array.isArray(tasks)) return { tasks: tasks.map(String) };
  throw new HoldfastError("configuration", "What is told there are no changes of tasks.");
}

/** Whether a broken stream, or one that was not opened, is reason to try again. */
function mayAnswerLater(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true;
  return !["unauthenticated", "insufficient_scope", "configuration", "invalid_params"].includes(error.code);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
