import { assertOptions } from "../../options/options.ts";
import {
  type EndpointListeners,
  insideFor,
  operatorEndpoint,
  type OperatorEndpoint,
  OperatorGate,
  type OperatorRequests,
  refusal,
  sentBy,
} from "./operator-endpoint.ts";
import { pathOf } from "./http-request.ts";
import { metricsHandlerOptions, type MetricsHandlerOptions, type MetricsText } from "./operator-options.ts";
import type { Tasks } from "../tasks.ts";

/** Answers the requests of systems that collect metrics. */
export class MetricsRequests implements OperatorRequests {
  readonly path: string;
  readonly #listeners: EndpointListeners;
  readonly #gate: OperatorGate;
  readonly #source: MetricsText;

  /** Throws `configuration` for options that would admit everyone, or no one. */
  constructor(listeners: EndpointListeners, options: MetricsHandlerOptions) {
    assertOptions("createMetricsHandler", options, metricsHandlerOptions);
    const { path = "/metrics", source, authenticate, ...names } = options;
    this.path = path;
    this.#listeners = listeners;
    this.#gate = new OperatorGate("metrics", { authenticate, ...names });
    this.#source = source;
  }

  serves(pathname: string): boolean {
    return pathname === this.path;
  }

  fetch(request: Request): Promise<Response> {
    return sentBy(this.#answer(request), this.#listeners);
  }

  close(): void {
    this.#gate.close();
  }

  async #answer(request: Request): Promise<Response> {
    const pathname = pathOf(request);
    if (!this.serves(pathname)) return refusal(404, "method_not_found", `Nothing is served at ${pathname}.`);
    const operator = await this.#gate.admit(request);
    if (operator instanceof Response) return operator;
    const { method } = request;
    if (method !== "GET" && method !== "HEAD")
      return refusal(405, "invalid_request", "Allowed methods: GET, HEAD.", { Allow: "GET, HEAD" });
    const text = await this.#source.text();
    const headers = { "Content-Type": this.#source.contentType };
    return new Response(method === "HEAD" ? null : text, { headers });
  }
}

/**
 * Serves metrics on `options.path` over HTTP, as text, to those that `authenticate` identifies. It neither starts nor stops the tasks.
 * Throws `configuration` without authentication.
 *
 * ```ts
 * const authenticate = adminToken(process.env.METRICS_TOKEN, "prometheus");
 * app.use(createMetricsHandler(tasks, { source: prometheusMetrics(), authenticate }));
 * ```
 */
export function createMetricsHandler(tasks: Tasks, options: MetricsHandlerOptions): OperatorEndpoint {
  const inside = insideFor(tasks, "createMetricsHandler(tasks, { source, authenticate })");
  return operatorEndpoint(new MetricsRequests(inside, options), inside.onError);
}
