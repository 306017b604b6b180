/**
 * What the processes of a store counted in the last minutes. Lists by minute have one number per minute, oldest first; the last minute is
 * not over.
 */
export interface Activity {
  /** When the first minute began (epoch ms). */
  readonly from: number;
  readonly minutes: number;
  /** Tasks of all tools, by minute. */
  readonly created: readonly number[];
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  readonly cancelled: readonly number[];
  /** Sorted by name. Tools without activity are left out. */
  readonly tools: readonly ToolActivity[];
  /** Most frequent first. */
  readonly refusals: readonly RefusalActivity[];
}

/** What happened to the tasks of one tool. */
export interface ToolActivity {
  readonly tool: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** How often a handler threw and ran again. */
  readonly retried: number;
  /** Tasks that ended, by minute. */
  readonly ended: readonly number[];
  /** How long tasks took from creation to end, at the 50th and 95th percentile (within 10 %); null if none ended. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Requests refused for the same reason. */
export interface RefusalActivity {
  /** The `code` of the event `request.refused`. */
  readonly code: string;
  /** The JSON-RPC method, if known. */
  readonly method: string | null;
  readonly count: number;
  readonly byMinute: readonly number[];
}

/** A process that has the store open, or had it until recently. Values that it has not reported are null. */
export interface NodeSummary {
  /** The owner id stored with its tasks. */
  readonly id: string;
  /** False: the process is gone, and others take over its tasks. */
  readonly alive: boolean;
  readonly host: string | null;
  readonly pid: number | null;
  /** The version of the package. */
  readonly version: string | null;
  readonly startedAt: number | null;
  /** Its last report (epoch ms). */
  readonly reportedAt: number | null;
  readonly roles: readonly string[];
  /** Slots in use by handlers, and the total. */
  readonly slots: { readonly used: number; readonly limit: number } | null;
  /** Tasks that it holds now, according to the store; at most 10,000. */
  readonly running: number;
  /** Waiting handlers that stay in memory. */
  readonly parked: number | null;
  /** Handlers that keep running although their tasks have ended. */
  readonly leaked: number | null;
  /** Event loop delay, in milliseconds. */
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number } | null;
  readonly memoryBytes: number | null;
}
