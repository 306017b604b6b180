/** What a process and its watching thread say to each other. */

/** One server that wants to know. Times are in milliseconds. */
export interface Watch {
  readonly id: number;
  readonly loopBlockedMs: number;
  /** The process is ended once the loop has been blocked for so long; null: never. */
  readonly exitMs: number | null;
  readonly health: { readonly host: string; readonly port: number } | null;
}

export type ToWatcher =
  { readonly type: "watch"; readonly watch: Watch } | { readonly type: "unwatch"; readonly id: number };

/** What blocked the loop, as far as that is known. */
export interface BlockedBy {
  readonly tool?: string;
  readonly taskId?: string;
  readonly step?: string;
  /** False if other code may have blocked it: this is what was entered last. */
  readonly isCertain: boolean;
  /** Where it was, as a stack of at most 20 lines. */
  readonly stack?: string;
}

export type FromWatcher =
  /** It answers again. */
  | { readonly type: "blocked"; readonly id: number; readonly durationMs: number; readonly by: BlockedBy }
  /** `problem`: a sentence. */
  | { readonly type: "failed"; readonly id: number; readonly problem: string };
