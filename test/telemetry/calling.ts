import type { RecordedSpans } from "./recorded-spans.ts";

export interface Called<T> {
  readonly value: T;
  readonly traceId: string;
  readonly spanId: string;
}

/** Calls `work` in a span of the author's, as code does that uses a client. */
export async function inCallersSpan<T>(spans: RecordedSpans, work: () => Promise<T>): Promise<Called<T>> {
  return spans.provider.getTracer("author").startActiveSpan("caller", async (span) => {
    try {
      return { value: await work(), ...span.spanContext() };
    } finally {
      span.end();
    }
  });
}
