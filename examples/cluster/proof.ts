import type { Claim } from "../index-folder/demo/proof.ts";
import { count, counted } from "../index-folder/wording.ts";
import { books, pagesPerBook, type PageEvent } from "./cluster-setup.ts";
import { pageName } from "./page-log.ts";

/** A page in the database: the process that printed it is what its step returned. */
export interface StoredPage {
  readonly book: number;
  readonly page: number;
  readonly pid: number;
}

/** What the demo knows at the end. */
export interface ClusterEvidence {
  readonly events: readonly PageEvent[];
  readonly killedPid: number;
  readonly stored: readonly StoredPage[];
  /** What the calls returned. */
  readonly results: readonly string[];
}

/** What the database and the notes of the nodes have to agree on. */
export function proveCluster({ events, killedPid, stored, results }: ClusterEvidence): Claim[] {
  const begun = events.filter(({ event }) => event === "begin");
  const ofKilled = begun.filter(({ pid }) => pid === killedPid);
  const finished = new Set(stored.filter(({ pid }) => pid === killedPid).map(pageName));
  const lost = ofKilled.filter((page) => !finished.has(pageName(page)));
  const elsewhere = begun.filter(({ pid }) => pid !== killedPid);
  const again = elsewhere.filter((page) => finished.has(pageName(page)));
  const acknowledged = events.filter(({ event, pid }) => event === "kept" && pid === killedPid);
  const moved = new Set(lost.map(({ book }) => book));
  const pages = books * pagesPerBook;
  return [
    {
      holds: new Set(results).size === books,
      text: `${counted(books, "task")} started, ${count(new Set(results).size)} completed; ${count(moved.size)} of them began on the killed node and ended on another.`,
    },
    {
      holds: stored.length === pages && new Set(stored.map(pageName)).size === pages,
      text: `${counted(pages, "page")}, ${counted(stored.length, "step")} in the database: one for each.`,
    },
    {
      holds: again.length === 0 && acknowledged.every((page) => finished.has(pageName(page))),
      text: `${counted(finished.size, "page")} finished on the killed node, ${count(again.length)} of them printed again.`,
    },
    {
      holds: begun.length === pages + lost.length,
      text: `${counted(lost.length, "page")} in flight at the kill: unfinished, so printed again. ${count(begun.length)} printed in all.`,
    },
  ];
}
