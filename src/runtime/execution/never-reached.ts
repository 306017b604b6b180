/**
 * Entries of its journal that an attempt has not come to: code that was deployed since has lost their keys.
 * - Keys of `prepare` do not count: once its value is in the journal, its questions are not asked again.
 * - A key may be renamed if one new key of the same kind stands in its place: after the same key, and before the same one if the handler
 *   has come to any further one.
 */

import type { ListedEntry } from "../../store/store.ts";
import { encodeJournalKey, type JournalKind } from "../../task/journal.ts";
import { isOfPrepare, preparedKey } from "./prepare-in-task.ts";

/** The keys that a handler has come to, in that order, with what it does under them. */
type Reached = ReadonlyMap<string, JournalKind | undefined>;

const prepared = encodeJournalKey(preparedKey);

export interface NeverReached {
  readonly key: string;
  /** The new key that stands in its place. */
  readonly renamedTo?: string;
}

/** In the order of the journal. */
export function neverReached(
  journal: readonly Pick<ListedEntry, "key" | "kind" | "place">[],
  reached: Reached,
): readonly NeverReached[] {
  if (journal.every(({ key }) => reached.has(key))) return [];
  const isPrepared = journal.some(({ key }) => key === prepared);
  const counted = journal.filter(({ key }) => !(isPrepared && isOfPrepare(key)));
  const inOrder = counted.toSorted((a, b) => a.place - b.place);
  const kinds = new Map(inOrder.map(({ key, kind }) => [key, kind]));
  const come = [...reached.keys()].filter((key) => !isOfPrepare(key));
  const added = afterEach(come, (key) => kinds.has(key));
  const last = come.findLast((key) => kinds.has(key));
  return [...afterEach(kinds.keys(), (key) => reached.has(key))].flatMap(([before, lost]) =>
    lost.map((key, at) => {
      const [renamedTo, ...others] = added.get(before) ?? [];
      const isOne = before === last ? at === 0 : lost.length === 1 && others.length === 0;
      const isSameKind = renamedTo !== undefined && reached.get(renamedTo) === kinds.get(key);
      return isOne && isSameKind ? { key, renamedTo } : { key };
    }),
  );
}

/** The keys that are not common, by the common key before them; undefined: before the first. */
function afterEach(
  keys: Iterable<string>,
  isCommon: (key: string) => boolean,
): ReadonlyMap<string | undefined, readonly string[]> {
  const after = new Map<string | undefined, string[]>();
  let before: string | undefined;
  for (const key of keys) {
    if (isCommon(key)) before = key;
    else if (!after.get(before)?.push(key)) after.set(before, [key]);
  }
  return after;
}

const mostNamed = 20;

/** What the log of the task says of it. */
export function neverReachedText(entries: readonly NeverReached[]): string {
  const named = entries.slice(0, mostNamed).map(neverReachedWords);
  const more = entries.length > mostNamed ? ` and ${entries.length - mostNamed} more` : "";
  return `The handler ended without coming to keys of its journal: ${named.join(", ")}${more}. What was done under a renamed key was done again: task.renamed prevents that.`;
}

/** The key, and what it may be called now. */
export function neverReachedWords({ key, renamedTo }: NeverReached): string {
  return renamedTo === undefined ? `"${key}"` : `"${key}" (renamed to "${renamedTo}"?)`;
}

/** What the event has of it. */
export function neverReachedEvent(entries: readonly NeverReached[]): {
  readonly count: number;
  readonly keys: readonly NeverReached[];
} {
  return { count: entries.length, keys: entries.slice(0, mostNamed) };
}
