import { numberKind, orKind } from "../options/kind.ts";
import { mustBe, shown, type Read } from "../options/options.ts";
import { errorReporter } from "../runtime/error-reporter.ts";
import { defaultSettings } from "../runtime/options.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../task/option-names.ts";
import { isRestartDecision, type OnRestart } from "./restart.ts";
import { latestTime, type TimeSpan } from "../task/time.ts";
import type { StoreClock } from "../runtime/clock.ts";
import type { Retrievals } from "../runtime/own-record.ts";
import type { Sweeper } from "../runtime/dispatch/sweeper.ts";

/** Options of `openSdkV1Tasks`. */
export interface SdkV1Options {
  /**
   * Where tasks are stored: `sqliteStore("tasks.db")`, not open yet. Use a separate file: a server of `createTasks` on the same file would
   * fail these tasks. A third-party store needs the optional part `messages`.
   */
  readonly store: TaskStore;
  /**
   * What happens to tasks that a lost process left unfinished: at the start, and later if processes share a store. `"fail"` (default): they
   * fail with a reason. `"keep"`: they stay as they are, for servers whose work continues elsewhere. A function decides for each task, and
   * can resume its work.
   */
  readonly onRestart?: OnRestart;
  /** The ttl of tasks that ask for none, in milliseconds. `null` keeps them forever. Default 24 hours. */
  readonly ttlMs?: TimeSpan | null;
  /** The longest ttl of a task, in milliseconds, also if it asks for `null`. `null`: no limit. Default 30 days. */
  readonly maxTtlMs?: TimeSpan | null;
  /**
   * The principal of a session, which owns the tasks created in it. By default each session is a principal, so a client in a new session,
   * such as after a restart of the server, does not find its tasks. With authenticated callers, return the user of the session. `undefined`
   * (stdio): the session sees all tasks, and its tasks are visible to all.
   */
  readonly owner?: (sessionId: string | undefined) => string | undefined;
  /** Called with errors that reach no caller. Default: prints a line to stderr. */
  readonly onError?: (error: unknown) => void;
}

const sdkV1Options: OptionNames<SdkV1Options> = {
  store: true,
  onRestart: true,
  ttlMs: true,
  maxTtlMs: true,
  owner: true,
  onError: true,
};

export type SdkV1Settings = Read<Required<SdkV1Options>>;

/** The options with their defaults. Throws `configuration` for an invalid value. */
export function resolveSdkV1Options(given: SdkV1Options): SdkV1Settings {
  assertOptionNames("openSdkV1Tasks", given, sdkV1Options);
  return {
    store: given.store,
    onRestart: validOnRestart(given.onRestart ?? "fail"),
    ttlMs: validTtl("ttlMs", given.ttlMs, defaultSettings.keepMs),
    maxTtlMs: validTtl("maxTtlMs", given.maxTtlMs, defaultSettings.maxTtlMs),
    owner: checkedOwner(given.owner ?? ((sessionId) => sessionId)),
    onError: errorReporter(given.onError),
  };
}

/** What is no name must neither own tasks nor find them: null would be everybody, and a promise nobody. */
function checkedOwner(owner: Exclude<SdkV1Options["owner"], undefined>): SdkV1Settings["owner"] {
  return (sessionId) => {
    const name: unknown = owner(sessionId);
    if (name === undefined || typeof name === "string") return name;
    throw new HoldfastError(
      "configuration",
      `owner returned ${shown(name)}. It must return the name of a user, or undefined for a caller who may see all tasks.`,
    );
  };
}

function validOnRestart(given: OnRestart): OnRestart {
  if (typeof given === "function" || isRestartDecision(given)) return given;
  throw new HoldfastError("configuration", 'onRestart must be "fail", "keep" or a function.');
}

const ttlKind = numberKind("time", { min: 1 });

function validTtl(name: string, given: TimeSpan | null | undefined, otherwise: number | null): number | null {
  if (given === undefined) return otherwise;
  if (given === null) return null;
  if (ttlKind.accepts(given)) return ttlKind.read?.(given) as number;
  throw new HoldfastError(
    "configuration",
    `${name} ${mustBe(orKind(ttlKind, null), "inCode", shown(given))}`,
  );
}

/** The ttl of a task in milliseconds (C-103): the requested one, or the default, within the limits. null: no end. */
export function resolveTtl(
  asked: number | null | undefined,
  { ttlMs, maxTtlMs }: { readonly ttlMs: number | null; readonly maxTtlMs: number | null },
): number | null {
  const ttl = asked === undefined ? ttlMs : asked;
  const longest = maxTtlMs ?? latestTime;
  // NaN counts as null.
  if (ttl === null || Number.isNaN(ttl)) return maxTtlMs;
  return Math.min(Math.max(Math.ceil(ttl), defaultSettings.minTtlMs), longest);
}

/** What the task store and the message queue share. */
export interface SdkV1Services {
  readonly store: TaskStore;
  readonly clock: StoreClock;
  readonly sweeper: Pick<Sweeper, "consider" | "ended">;
  readonly retrievals: Retrievals;
  readonly options: SdkV1Settings;
}
