export { prometheusMetrics } from "./prometheus/prometheus-metrics.ts";
export type { PrometheusMetrics, PrometheusMetricsOptions } from "./prometheus/prometheus-metrics.ts";
