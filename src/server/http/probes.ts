import { refuse } from "./refuse.ts";

/**
 * Answers health checks without a token: `/healthz` says that the process lives, `/readyz` whether it accepts requests. Undefined for all
 * other requests.
 */
export class Probes {
  readonly #ready: () => Promise<boolean>;
  #looking: Promise<boolean> | undefined;

  constructor(ready: () => Promise<boolean>) {
    this.#ready = ready;
  }

  /** Whether `answer` answers such a request. */
  has(method: string, pathname: string): boolean {
    return (method === "GET" || method === "HEAD") && (pathname === "/healthz" || pathname === "/readyz");
  }

  async answer(method: string, pathname: string): Promise<Response | undefined> {
    if (!this.has(method, pathname)) return undefined;
    if (pathname === "/healthz") return new Response("ok");
    return (await this.#look())
      ? new Response("ready")
      : refuse(503, "The server cannot take requests now.", { "Retry-After": "1" });
  }

  /** One check at a time, because anyone may ask as often as they like. */
  async #look(): Promise<boolean> {
    this.#looking ??= this.#ready();
    try {
      return await this.#looking;
    } finally {
      this.#looking = undefined;
    }
  }
}
