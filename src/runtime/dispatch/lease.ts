import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import { RecentAttempts } from "./recent-attempts.ts";

/** What this process may begin, and which attempts it knows of, in a store where owners have leases. In others it may begin anything. */
export class Lease {
  readonly recent = new RecentAttempts();
  readonly #store: Pick<TaskStore, "lease">;
  /** The tokens in commands that have not ended yet, with their number. */
  readonly #tokens = new Map<string, number>();
  #renew: () => Promise<void> = () => Promise.resolve();

  constructor(store: Pick<TaskStore, "lease">) {
    this.#store = store;
  }

  /** Call it once, before a task runs. */
  renewBy(renew: () => Promise<void>): void {
    this.#renew = renew;
  }

  /** Look before something begins that must not happen twice. If it does not hold, `hold` it first: after that, tasks may be others'. */
  get holds(): boolean {
    return this.#store.lease?.holds !== false;
  }

  /** Resolves once the lease holds; rejects if the store does not answer. */
  async hold(): Promise<void> {
    if (!this.holds) await this.#renew();
  }

  /** Returns the write. Until those that wait for it have gone on, the attempts that it begins or ends are known here. */
  during<Result extends CommandResult>(command: TaskCommand, write: Promise<Result>): Promise<Result> {
    const tokens = this.#store.lease === undefined ? [] : tokensOf(command);
    if (tokens.length === 0) return write;
    for (const token of tokens) this.#tokens.set(token, (this.#tokens.get(token) ?? 0) + 1);
    const forget = (): void => {
      for (const token of tokens) {
        const left = (this.#tokens.get(token) ?? 1) - 1;
        if (left === 0) this.#tokens.delete(token);
        else this.#tokens.set(token, left);
      }
    };
    const later = (): void => void setImmediate(forget);
    write.then((result) => {
      this.recent.wrote(command, result);
      later();
    }, later);
    return write;
  }

  /** Of attempts that commands are about which have not ended yet. */
  tokens(): Iterable<string> {
    return this.#tokens.keys();
  }
}

/** A command, with the members that name attempts. */
interface Tokens {
  readonly type: string;
  readonly token?: string | null;
  readonly tokens?: readonly string[];
}

function tokensOf({ token, tokens = [] }: Tokens): readonly string[] {
  return typeof token === "string" ? [token] : tokens;
}
