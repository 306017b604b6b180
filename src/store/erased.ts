/** What was deleted of a principal. */
export interface Erased {
  /** The number of deleted rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Some ids of tasks that were not deleted because they have not ended. */
  readonly left: readonly string[];
}
