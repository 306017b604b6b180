/**
 * No code of an author runs in the async context of whoever happened to cause it: of another caller whose task freed a slot, of an operator
 * who answered or cancelled, of a request whose connection was shared. A handler runs in the context in which its runtime was made, and a
 * callback in the one in which it was given. There `AsyncLocalStorage` has what the author put there, and never another user.
 */

import { AsyncLocalStorage } from "node:async_hooks";

/** Calls a function in the async context in which this was made. */
export type OwnContext = <Result>(work: () => Result) => Result;

export function ownContext(): OwnContext {
  return AsyncLocalStorage.snapshot();
}

/** The callback, which from now on runs in the async context of this call. */
export function inThisContext<Arguments extends unknown[], Result>(
  callback: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const inContext = AsyncLocalStorage.snapshot();
  return (...given) => inContext(callback, ...given);
}
