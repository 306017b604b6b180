/** What an owner says of one minute, and of how it stands: JSON whose meaning is its runtime's. */
export interface NodeReport {
  readonly owner: string;
  /** Since the epoch. */
  readonly minute: number;
  readonly body: string;
}

/** An owner that lives. */
export interface LivingOwner {
  readonly id: string;
  /** How many tasks it runs. */
  readonly running: number;
}

/** What the owners of a store say of themselves, for operators. Nothing else depends on it. */
export interface NodeReports {
  /** Keeps what this owner says of a minute, instead of what it said of that minute before, and forgets what anybody said of minutes before `oldest`. */
  write(report: Omit<NodeReport, "owner">, oldest: number): Promise<void>;
  /** What owners said of the minutes from `first` to `last`, the newest minute first: at most `limit`. */
  between(first: number, last: number, limit: number): Promise<readonly NodeReport[]>;
  /** The owners that live. None has more than `most` tasks, and a store may look through no more unfinished tasks than that, oldest first. */
  owners(most: number): Promise<readonly LivingOwner[]>;
}
