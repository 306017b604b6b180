import type { ServerMetrics } from "./metrics.ts";
import type { ServerTracing } from "./tracing.ts";

/**
 * What a server is traced and measured with: `openTelemetry()` of `holdfast/opentelemetry`. Nothing of it throws, or is waited for. Where there is
 * none, nothing is made of what happens.
 */
export interface ServerTelemetry {
  readonly tracing: ServerTracing;
  readonly metrics: ServerMetrics;
}
