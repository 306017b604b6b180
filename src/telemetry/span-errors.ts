import { SpanStatusCode, type Span } from "@opentelemetry/api";
import { eventError } from "../runtime/events/event-error.ts";
import { attribute } from "./attributes.ts";

/** Whether spans have the texts and stacks of errors, which may quote what a caller sent. Their types stay in any case. */
export type ErrorText = "keep" | "omit";

/** A span has failed, of a kind and with a message. */
export function failSpan(span: Span, errorType: string, message: string | undefined, text: ErrorText): void {
  span.setAttribute(attribute.errorType, errorType);
  const isShown = text === "keep" && message !== undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(isShown && { message }) });
}

/** A span has failed with what was thrown. */
export function throwInSpan(span: Span, thrown: unknown, text: ErrorText): void {
  const { name, message, code, stack } = eventError(thrown);
  failSpan(span, typeOf(code ?? name), message, text);
  if (text === "omit") return;
  span.recordException({ name, message, ...(stack !== undefined && { stack }) });
}

/** A name, as types and codes of errors are; what quotes something, or is long, is none. */
function typeOf(name: string | number): string {
  return typeof name === "number" || /^[\w.:/-]{1,100}$/.test(name) ? String(name) : "_OTHER";
}
