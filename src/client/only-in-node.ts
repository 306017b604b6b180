/** Refuses what a browser or a worker cannot do, and says what to do there instead. */
export function onlyInNode(what: string, instead: string): never {
  throw new TypeError(`${what} needs Node, Bun or Deno. In a browser or a worker, ${instead}.`);
}
