/** Runs `run` for every item, at most `limit` at a time, in order of the items; rejects with the first failure. */
export async function eachAtMost<T>(
  limit: number,
  items: readonly T[],
  run: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values(); // one iterator for all: whoever is free takes the next item
  const work = async (): Promise<void> => {
    for (const item of left) await run(item);
  };
  await Promise.all(Array.from({ length: limit }, work));
}
