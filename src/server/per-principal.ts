/** Whom something belongs to; null is all callers that the server does not tell apart, as one. */
export type Principal = string | null;

/**
 * Who shares what is limited: a principal, or the address of callers that the server does not tell apart; null where that is unknown too, as
 * behind a framework. Callers of one address may be many, so only principals have limits of their own.
 */
export type Share = string | null;

/** No principal begins so. */
const ofAddress = "\0";

export function shareOf({
  principal,
  address,
}: {
  principal: Principal;
  address?: string | undefined;
}): Share {
  if (principal !== null || address === undefined) return principal;
  const isV6 = address.includes(":") && !address.includes(".");
  return ofAddress + (isV6 ? networkOf(address) : address);
}

/** Whoever has an address of version 6 has a network of them. `::` stands for as many zeros as are missing. */
function networkOf(address: string): string {
  const [before = [], after] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = after === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(zeros).fill("0"), ...(after ?? [])].slice(0, 4).join(":");
}

export function isPrincipal(share: Share): boolean {
  return share?.startsWith(ofAddress) === false;
}

/** Things by the principal that has them, so that the principal with most is the first to give something up. */
export class PerPrincipal<T> {
  readonly #things = new Map<Share, Set<T>>();
  #size = 0;

  /** Of all principals together. */
  get size(): number {
    return this.#size;
  }

  add(share: Share, thing: T): void {
    const things = this.#things.get(share) ?? new Set();
    this.#things.set(share, things);
    if (things.has(thing)) return;
    things.add(thing);
    this.#size += 1;
  }

  /** Does nothing if the principal does not have it. */
  remove(share: Share, thing: T): void {
    const things = this.#things.get(share);
    if (things?.delete(thing) !== true) return;
    this.#size -= 1;
    if (things.size === 0) this.#things.delete(share);
  }

  /** What the principal has, oldest first. */
  of(share: Share): ReadonlySet<T> {
    return this.#things.get(share) ?? new Set();
  }

  count(share: Share): number {
    return this.of(share).size;
  }

  /** What the principal with most has, oldest first; empty if there is nothing. */
  get largest(): ReadonlySet<T> {
    let largest: ReadonlySet<T> = new Set();
    for (const things of this.#things.values()) if (things.size > largest.size) largest = things;
    return largest;
  }
}
