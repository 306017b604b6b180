/** The command, or what it names, is not as it has to be: the message says what to do about it. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
