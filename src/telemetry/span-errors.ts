import { SpanStatusCode, type Span } from "@opentelemetry/api";
import { eventError } from "../runtime/events/event-error.ts";
import { attribute } from "./attributes.ts";

/** Whether spans contain the texts and stacks of errors, which may quote what a caller sent. Their types always stay. */
export type ErrorText = "keep" | "omit";

/** Marks a span as failed, with a type and a message. */
export function failSpan(span: Span, errorType: string, message: string | undefined, text: ErrorText): void {
  span.setAttribute(attribute.errorType, errorType);
  const isShown = text === "keep" && message !== undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(isShown && { message }) });
}

/** Marks a span as failed with a thrown error. */
export function throwInSpan(span: Span, thrown: unknown, text: ErrorText): void {
  const { name, message, code, stack } = eventError(thrown);
  failSpan(span, typeOf(code ?? name), message, text);
  if (text === "omit") return;
  span.recordException({ name, message, ...(stack !== undefined && { stack }) });
}

/** An error's type or code, if it looks like a name: not long, and without quotes from elsewhere. */
function typeOf(name: string | number): string {
  return typeof name === "number" || /^[\w.:/-]{1,100}$/.test(name) ? String(name) : "_OTHER";
}
