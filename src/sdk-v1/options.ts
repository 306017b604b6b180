import { defaultOptions } from "../runtime/options.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import type { OnRestart } from "./restart.ts";

/** Options of `openSdkV1Tasks`. */
export interface SdkV1Options {
  /**
   * Where the tasks live: `sqliteStore("tasks.db")`, not open yet. Best one that nothing else uses: other tasks in it are
   * left alone, but a server of `createTasks` on the same file would fail those of this one.
   */
  readonly store: TaskStore;
  /**
   * What becomes of tasks that the last process left unfinished; nobody here works on them. `"fail"` (default): they end
   * as failed and say why. `"keep"`: they stay as they are, for servers whose work goes on elsewhere. A function decides
   * for each, and is where a server takes its work up again.
   */
  readonly onRestart?: OnRestart;
  /** The ttl in ms of tasks that ask for none; null: without end. Default 24 hours. */
  readonly ttlMs?: number | null;
  /** The longest ttl in ms that a task can get, also where it asks for null; null: no limit. Default 30 days. */
  readonly maxTtlMs?: number | null;
  /**
   * Who a session belongs to; it owns what is created in that session. By default each session is on its own, hence a
   * client that comes back in another session, say after a restart of the server, does not find its tasks. Where callers
   * are authenticated, give the user of the session. `undefined` is nobody: such a session sees every task (stdio), and
   * what it creates is seen by all.
   */
  readonly owner?: (sessionId: string | undefined) => string | undefined;
  /** Hears of faults that no caller is there for; a line on stderr by default. */
  readonly onError?: (error: unknown) => void;
}

/** The options with their defaults; throws `configuration` for a value that could not work. */
export function resolveSdkV1Options(given: SdkV1Options): Required<SdkV1Options> {
  return {
    store: given.store,
    onRestart: given.onRestart ?? "fail",
    ttlMs: lifetime("ttlMs", given.ttlMs, defaultOptions.ttlMs),
    maxTtlMs: lifetime("maxTtlMs", given.maxTtlMs, defaultOptions.maxTtlMs),
    owner: given.owner ?? ((sessionId) => sessionId),
    onError: given.onError ?? ((error) => console.error("holdfast:", error)),
  };
}

function lifetime(name: string, given: number | null | undefined, otherwise: number | null): number | null {
  if (given === undefined) return otherwise;
  if (given === null || (Number.isSafeInteger(given) && given > 0)) return given;
  throw new HoldfastError("configuration", `${name} has to be a whole number above 0, or null.`);
}
