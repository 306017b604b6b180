import { isUnreadable } from "./fault.ts";

/** An encrypted text that cannot be decrypted. */
export class Unopened extends Error {
  override readonly name = "Unopened";
}

/** Whether `thrown` says that a task cannot be read because its stored data cannot be decrypted here. */
export function isUnopened(thrown: unknown): boolean {
  return isUnreadable(thrown) && thrown.cause instanceof Unopened;
}
