/** What was deleted of a principal. */
export interface Erased {
  /** How many rows of which table. */
  readonly rows: Readonly<Record<string, number>>;
  /** The ids of tasks that have not ended, and so were not deleted: some of them. */
  readonly left: readonly string[];
}
