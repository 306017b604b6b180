import { inThisContext } from "../../../runtime/own-context.ts";
import type { OnError } from "../../faults.ts";
import type { HttpSession, SessionCallbacks } from "../http-options.ts";
import type { Session } from "./session.ts";

/**
 * Tells an author of the sessions of this process. Each is told of once as open, and once as closed if it was: no handshake that was
 * refused, and no session that could not be continued.
 */
export class SessionHooks {
  readonly #onOpened: SessionCallbacks["onSessionOpened"];
  readonly #onClosed: SessionCallbacks["onSessionClosed"];
  readonly #onError: OnError;
  readonly #open = new Map<string, HttpSession>();

  constructor(callbacks: SessionCallbacks, onError: OnError) {
    const { onSessionOpened, onSessionClosed } = callbacks;
    this.#onOpened = onSessionOpened && inThisContext(onSessionOpened);
    this.#onClosed = onSessionClosed && inThisContext(onSessionClosed);
    this.#onError = onError;
  }

  /** Resolves when the author knows of it. Its client gets no answer before. */
  async opened({ id, principal, hasEnded }: Session): Promise<void> {
    if (hasEnded) return;
    const session = { id, principal };
    this.#open.set(id, session);
    await this.#call(this.#onOpened, session);
  }

  closed(id: string): void {
    const session = this.#open.get(id);
    if (session === undefined) return;
    this.#open.delete(id);
    void this.#call(this.#onClosed, session);
  }

  async #call(
    callback: ((session: HttpSession) => unknown) | undefined,
    session: HttpSession,
  ): Promise<void> {
    try {
      await callback?.(session);
    } catch (error) {
      this.#onError(error);
    }
  }
}
