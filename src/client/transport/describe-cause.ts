/** An error's message with that of its innermost cause: the outer message often says only that something failed. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = innermost(error);
  if (inner === error || (inner.message !== "" && error.message.includes(inner.message)))
    return error.message;
  const code = "code" in inner && typeof inner.code === "string" ? inner.code : inner.name;
  return `${error.message} (${inner.message === "" ? code : inner.message})`;
}

/** The innermost cause of an error. */
export function innermost(error: Error): Error {
  const { cause } = error;
  // An SDK error keeps it in its data.
  const data: unknown = "data" in error ? error.data : undefined;
  const kept: unknown = typeof data === "object" && data !== null && "cause" in data ? data.cause : undefined;
  const next = cause ?? kept;
  return next instanceof Error && next !== error ? innermost(next) : error;
}
