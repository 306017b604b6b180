import { waitFor } from "../../../runtime/wait-for.ts";
import { askUser, type UserAnswer, type UserCallbacks } from "../../question/ask-user.ts";

/** One connection's way to the user. */
interface Seat {
  readonly callbacks: UserCallbacks;
  /** Aborts when the connection is over. */
  readonly left: AbortSignal;
}

type Question = Parameters<typeof askUser>[0];

/** Who answers the questions of which server. A question waits until somebody is there for its server. */
export class Seats {
  readonly #seats = new Map<string, Set<Seat>>();
  readonly #sleepers = new Set<() => void>();

  /** Returns the way to leave. */
  take(server: string, callbacks: UserCallbacks): () => void {
    const leaving = new AbortController();
    const seat = { callbacks, left: leaving.signal };
    const seats = this.#seats.get(server) ?? new Set();
    this.#seats.set(server, seats.add(seat));
    for (const wake of this.#sleepers) wake();
    return () => {
      seats.delete(seat);
      if (seats.size === 0 && this.#seats.get(server) === seats) this.#seats.delete(server);
      leaving.abort(new Error("The connection has ended"));
    };
  }

  /** Asks, and asks again whoever comes next if a connection ends over it; rejects with the signal's reason. */
  async ask(server: string, question: Question, signal: AbortSignal): Promise<UserAnswer> {
    for (;;) {
      signal.throwIfAborted();
      const [seat] = this.#seats.get(server) ?? [];
      if (seat === undefined) {
        await waitFor((wake) => {
          this.#sleepers.add(wake);
          return () => this.#sleepers.delete(wake);
        }, signal);
        continue;
      }
      try {
        return await askUser(question, seat.callbacks, AbortSignal.any([signal, seat.left]));
      } catch (error) {
        if (signal.aborted || !seat.left.aborted) throw error;
      }
    }
  }
}
