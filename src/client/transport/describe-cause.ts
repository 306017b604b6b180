import { TaskClientError } from "../task-client-error.ts";

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
  const next = causeOf(error);
  return next === undefined ? error : innermost(next);
}

/** The error of this client among the causes: our part of a connection threw it, and the SDK wrapped it. */
export function ownErrorIn(error: unknown): TaskClientError | undefined {
  if (error instanceof TaskClientError) return error;
  return error instanceof Error ? ownErrorIn(causeOf(error)) : undefined;
}

function causeOf(error: Error): Error | undefined {
  const { cause } = error;
  // An SDK error keeps it in its data.
  const data: unknown = "data" in error ? error.data : undefined;
  const kept: unknown = typeof data === "object" && data !== null && "cause" in data ? data.cause : undefined;
  const next = cause ?? kept;
  return next instanceof Error && next !== error ? next : undefined;
}
