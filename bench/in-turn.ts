export interface Pair<T> {
  readonly subject: T;
  readonly reference: T;
}

/** Runs this many rounds of both in turn. Each goes first in every other round, so that other load on the machine affects both alike. */
export async function inTurn<T>(
  subject: () => Promise<T>,
  reference: () => Promise<T>,
  rounds: number,
): Promise<readonly Pair<T>[]> {
  const pairs: Pair<T>[] = [];
  for (let n = 0; n < rounds; n++) {
    if (n % 2 === 0) {
      const first = await subject();
      pairs.push({ subject: first, reference: await reference() });
    } else {
      const first = await reference();
      pairs.push({ reference: first, subject: await subject() });
    }
  }
  return pairs;
}
