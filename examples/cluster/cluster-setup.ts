/** What the demo passes to its nodes. */
export interface ClusterSetup {
  readonly url: string;
  readonly schema: string;
  readonly leaseMs: number;
  /** The file in which all nodes note what they do. */
  readonly log: string;
}

export const books = 12;
export const pagesPerBook = 8;
/** How long a page takes on average: long enough to watch. */
export const pageMs = 500;

/** One line of the log of the nodes: a page begins, or its step is known to be in the database. */
export interface PageEvent {
  readonly pid: number;
  /** Epoch ms. */
  readonly at: number;
  readonly event: "begin" | "kept";
  readonly book: number;
  readonly page: number;
}
