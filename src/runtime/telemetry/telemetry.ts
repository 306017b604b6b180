import type { ServerMetrics } from "./metrics.ts";
import type { ServerTracing } from "./tracing.ts";

/**
 * Traces and measures a server: `openTelemetry()` of `holdfast/opentelemetry`. Its members never throw, and nothing waits for them. Without
 * it, nothing is recorded.
 */
export interface ServerTelemetry {
  readonly tracing: ServerTracing;
  readonly metrics: ServerMetrics;
}
