import { waitFor } from "../../../runtime/wait-for.ts";
import { askUser, type UserAnswer, type UserCallbacks } from "../../question/ask-user.ts";

/** The callbacks of one connection. */
interface Responder {
  readonly callbacks: UserCallbacks;
  /** Aborts when the connection has ended. */
  readonly disconnected: AbortSignal;
}

type Question = Parameters<typeof askUser>[0];

/** The open connections that can answer questions, by server. A question waits until its server has one. */
export class Responders {
  readonly #responders = new Map<string, Set<Responder>>();
  readonly #wakeups = new Set<() => void>();

  /** Returns a function that removes it. */
  add(server: string, callbacks: UserCallbacks): () => void {
    const disconnect = new AbortController();
    const responder = { callbacks, disconnected: disconnect.signal };
    const responders = this.#responders.get(server) ?? new Set();
    this.#responders.set(server, responders.add(responder));
    for (const wake of this.#wakeups) wake();
    return () => {
      responders.delete(responder);
      if (responders.size === 0 && this.#responders.get(server) === responders)
        this.#responders.delete(server);
      disconnect.abort(new Error("The connection has ended"));
    };
  }

  /**
   * Asks the user. If the connection ends before the answer, asks again through the next one. Rejects with the
   * signal's reason.
   */
  async ask(server: string, question: Question, signal: AbortSignal): Promise<UserAnswer> {
    for (;;) {
      signal.throwIfAborted();
      const [responder] = this.#responders.get(server) ?? [];
      if (responder === undefined) {
        await waitFor((wake) => {
          this.#wakeups.add(wake);
          return () => this.#wakeups.delete(wake);
        }, signal);
        continue;
      }
      try {
        const { callbacks, disconnected } = responder;
        const over = AbortSignal.any([signal, disconnected]);
        return await callbacks.inOwnContext(() => askUser(question, callbacks, over));
      } catch (error) {
        if (signal.aborted || !responder.disconnected.aborted) throw error;
      }
    }
  }
}
