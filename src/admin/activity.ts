/** What the processes of a store have counted in the last minutes. Lists by minute have a number for each minute, the oldest first; the last minute is not over. */
export interface Activity {
  /** When the first minute began (epoch ms). */
  readonly from: number;
  readonly minutes: number;
  /** Tasks of all tools, by minute. */
  readonly created: readonly number[];
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  readonly cancelled: readonly number[];
  /** In the order of their names; those of which nothing happened are left out. */
  readonly tools: readonly ToolActivity[];
  /** The most frequent first. */
  readonly refusals: readonly RefusalActivity[];
}

/** What happened to the tasks of one tool. */
export interface ToolActivity {
  readonly tool: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** How often a handler threw, and ran again. */
  readonly retried: number;
  /** Tasks that ended, by minute. */
  readonly ended: readonly number[];
  /** How long tasks took from their creation to their end: half of them, and 95 of 100, took no longer (to within a tenth); null where none ended. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Requests that were refused for one reason. */
export interface RefusalActivity {
  /** As `request.refused` of the events has it. */
  readonly code: string;
  /** The JSON-RPC method, where it was known. */
  readonly method: string | null;
  readonly count: number;
  readonly byMinute: readonly number[];
}

/** A process that has the store open, or had it until lately. What it has not said is null. */
export interface NodeSummary {
  /** What tasks name as their owner. */
  readonly id: string;
  /** False: it is gone, and others take its tasks over. */
  readonly alive: boolean;
  readonly host: string | null;
  readonly pid: number | null;
  /** Of the package. */
  readonly version: string | null;
  readonly startedAt: number | null;
  /** When it said last how it stands (epoch ms). */
  readonly reportedAt: number | null;
  readonly roles: readonly string[];
  /** Slots that handlers use, and how many there are. */
  readonly slots: { readonly used: number; readonly limit: number } | null;
  /** Tasks that it holds at the moment, as the store has it; at most 10,000. */
  readonly running: number;
  /** Handlers that wait, with what they hold in memory. */
  readonly parked: number | null;
  /** Handlers that go on although their tasks have ended. */
  readonly leaked: number | null;
  /** How late its event loop was, in milliseconds. */
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number } | null;
  readonly memoryBytes: number | null;
}
