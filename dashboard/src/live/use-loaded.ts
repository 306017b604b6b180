import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useServices } from "../api/services.ts";
import type { Changed } from "./change-feed.ts";

export interface LoadOptions<T = unknown> {
  /** The changes after which to load again. Default: all. */
  readonly concerns?: (changed: Changed) => boolean;
  /** The minimum pause after a load before a change starts the next one. Default 1,000 ms. */
  readonly restMs?: number;
  /** The pause is at least so many times as long as the load took, up to a minute: for what a busy server is slow to answer. */
  readonly restTimes?: number;
  /** How often to load again, even without changes. */
  readonly everyMs?: number;
  /** Whether a value is already known to be old, so that it is loaded again. */
  readonly isOld?: (value: T) => boolean;
}

export interface Loaded<T> {
  /** The last loaded value, kept while it is loaded again. Undefined before the first load, and after `key` changed. */
  readonly value: T | undefined;
  readonly error: Error | undefined;
  readonly reload: () => void;
}

/** The longest pause after a slow load (ms): a window may have slept while it loaded. */
const mostRestMs = 60_000;

/** Loads what `key` names, and again when tasks change. One load runs at a time; late answers are dropped. */
export function useLoaded<T>(key: string, load: () => Promise<T>, options: LoadOptions<T> = {}): Loaded<T> {
  const { feed } = useServices();
  const [state, setState] = useState<{ key: string; value?: T; error?: Error }>({ key });
  const latest = useRef({ load, options });
  latest.current = { load, options };
  const wanted = useRef<() => void>(() => undefined);

  useEffect(() => {
    let isOver = false;
    let isLoading = false;
    let isWanted = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let tookMs = 0;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      isLoading = true;
      isWanted = false;
      const begun = performance.now();
      try {
        const value = await latest.current.load();
        if (!isOver) setState({ key, value });
        isWanted ||= latest.current.options.isOld?.(value) ?? false;
      } catch (error) {
        const problem = error instanceof Error ? error : new Error(String(error));
        if (!isOver)
          setState((before) =>
            before.key === key ? { ...before, error: problem } : { key, error: problem },
          );
      }
      isLoading = false;
      tookMs = performance.now() - begun;
      if (!isOver && isWanted) want();
    };
    const want = (): void => {
      isWanted = true;
      if (isLoading || timer !== undefined) return;
      const { restMs: least = 1_000, restTimes = 0 } = latest.current.options;
      const restMs = Math.max(least, Math.min(restTimes * tookMs, mostRestMs));
      timer = setTimeout(() => void run(), restMs);
    };
    wanted.current = () => {
      if (isLoading) isWanted = true;
      else void run();
    };
    void run();
    const unsubscribe = feed.onChange((changed) => {
      if (latest.current.options.concerns?.(changed) ?? true) want();
    });
    const { everyMs } = latest.current.options;
    const interval = everyMs === undefined ? undefined : setInterval(want, everyMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
      clearInterval(interval);
      unsubscribe();
    };
  }, [key, feed]);

  const reload = useCallback(() => wanted.current(), []);
  const current = state.key === key ? state : undefined;
  return { value: current?.value, error: current?.error, reload };
}
