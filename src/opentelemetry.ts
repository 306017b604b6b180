export { openTelemetry } from "./telemetry/open-telemetry.ts";
export type { OpenTelemetryOptions } from "./telemetry/open-telemetry.ts";
