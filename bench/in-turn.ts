export interface Pair<T> {
  readonly subject: T;
  readonly reference: T;
}

/** So many rounds of both in turn, each the first in every other one, so that what else the machine does meets both alike. */
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
