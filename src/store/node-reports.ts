/** An owner's report of one minute and of its state: JSON that only its runtime interprets. */
export interface NodeReport {
  readonly owner: string;
  /** Minutes since the epoch. */
  readonly minute: number;
  readonly body: string;
}

/** A living owner. */
export interface LivingOwner {
  readonly id: string;
  /** The number of tasks on which its handlers work: those that wait are not counted. */
  readonly running: number;
  /** By when it is to have ended what it works on (epoch ms); null: it takes new work. */
  readonly drainUntil: number | null;
}

/** Reports of a store's owners, for operators. Nothing else depends on them. */
export interface NodeReports {
  /** Stores this owner's report of a minute, replacing its earlier one, and deletes all owners' reports of minutes before `oldest`. */
  write(report: Omit<NodeReport, "owner">, oldest: number): Promise<void>;
  /** Reports of the minutes from `first` to `last`, newest minute first: at most `limit`. */
  between(first: number, last: number, limit: number): Promise<readonly NodeReport[]>;
  /** The living owners. Each count is at most `most`, and a store may read no more unfinished tasks than that, oldest first. */
  owners(most: number): Promise<readonly LivingOwner[]>;
}
