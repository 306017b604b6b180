/** The first wanted items, at most `limit`; reads no further. */
export function take<T>(
  entries: Iterable<T>,
  limit: number,
  wanted: (entry: T) => boolean = () => true,
): T[] {
  const taken: T[] = [];
  if (limit <= 0) return taken;
  for (const entry of entries) {
    if (wanted(entry)) taken.push(entry);
    if (taken.length >= limit) break;
  }
  return taken;
}
