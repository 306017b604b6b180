import type { HttpServer } from "holdfast/http";

type Notify = HttpServer["notify"];

/**
 * What changes while the server runs. A server object lives for one request, so the state lies outside, and
 * listening clients are told through the HTTP server that they listen to.
 */
export class Changes {
  #notify: Notify | undefined;
  #hasTool = false;
  #hasPrompt = false;

  get hasTool(): boolean {
    return this.#hasTool;
  }

  get hasPrompt(): boolean {
    return this.#hasPrompt;
  }

  /** From now on, `notify` is called with changes. */
  tell(notify: Notify): void {
    this.#notify = notify;
  }

  toggleTool(): void {
    this.#hasTool = !this.#hasTool;
    this.#notify?.toolsChanged();
  }

  togglePrompt(): void {
    this.#hasPrompt = !this.#hasPrompt;
    this.#notify?.promptsChanged();
  }
}
