import { createParser } from "eventsource-parser";
import { HoldfastError } from "../task/fault.ts";
import type { TaskChanges } from "./admin.ts";

/** An endpoint without news sends a keep-alive every 15 seconds. After this long without one it counts as gone. */
const silentMs = 45_000;
/** The pause before the next try if the endpoint names none, and the longest one (ms). */
const usualRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Starts reading an endpoint's stream, until its signal aborts. Rejects as any other request does. */
export type OpenStream = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

/**
 * An endpoint's changes, over as many streams as it takes. Each stream first reports that any task may have changed. Rejects if the
 * endpoint refuses.
 */
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
  const received: TaskChanges[] = [];
  const parser = createParser({ onEvent: ({ data }) => received.push(changesIn(data)), onRetry });
  const decoder = new TextDecoder();
  try {
    const reader = (await open(link.signal)).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(silence); // time that the reader takes does not count as silence
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* received.splice(0);
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
  throw new HoldfastError("configuration", "The endpoint's stream is not a stream of task changes.");
}

/** Whether to retry after a stream broke or was not opened. */
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
