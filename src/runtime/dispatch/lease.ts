import { commandSize } from "../../store/lifecycle.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { TaskStore } from "../../store/store.ts";

/** How many attempts are remembered, how much of their outcomes in all, and how much of one (bytes). */
const mostAttempts = 10_000;
const mostBytes = 8 * 1024 * 1024;
const largest = 256 * 1024;

/** What was written under the token of an attempt. */
export interface RecentAttempt {
  /** Whether the task was one that a later attempt can resume. */
  readonly isResumable: boolean;
  /** What ended the task; undefined if it has not ended, or has with more than is remembered. */
  readonly end?: TaskCommand<"settle"> | undefined;
}

/**
 * What this process has stored of its last attempts. A failover to a server that lagged behind may undo it, and only this process knows
 * then that an attempt has ended, and how, or that its task can be resumed.
 */
class RecentAttempts {
  readonly #attempts = new Map<string, RecentAttempt>();
  #bytes = 0;

  /** The store has applied a command. */
  wrote(command: TaskCommand, result: CommandResult): void {
    if (!("token" in command) || command.token === null || !result.ok || !("task" in result)) return;
    const { token } = command;
    const known = this.#attempts.get(token);
    const isResumable = known?.isResumable === true || result.task.journalled;
    const end = command.type === "settle" && commandSize(command) <= largest ? command : known?.end;
    if (isResumable === (known?.isResumable ?? false) && end === known?.end) return;
    this.#forget(token);
    this.#attempts.set(token, { isResumable, end });
    this.#bytes += sizeOf(end);
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= mostAttempts && this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  /** Undefined for an attempt that has neither ended nor made its task resumable, or did so long ago. */
  of(token: string): RecentAttempt | undefined {
    return this.#attempts.get(token);
  }

  #forget(token: string): void {
    this.#bytes -= sizeOf(this.#attempts.get(token)?.end);
    this.#attempts.delete(token);
  }
}

function sizeOf(end: RecentAttempt["end"]): number {
  return end === undefined ? 0 : commandSize(end);
}

/** What this process may begin, and which attempts it knows of, in a store where owners have leases. In others it may begin anything. */
export class Lease {
  readonly recent = new RecentAttempts();
  readonly #store: Pick<TaskStore, "lease">;
  /** The tokens in commands and other work that have not ended yet, with their number. */
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
    write.then(
      (result) => this.recent.wrote(command, result),
      () => undefined,
    );
    return this.knows(tokens, write);
  }

  /** The same for work that goes on for longer than a write, for an attempt that holds its task no more and will say so. */
  knows<T>(tokens: readonly string[], work: Promise<T>): Promise<T> {
    for (const token of tokens) this.#tokens.set(token, (this.#tokens.get(token) ?? 0) + 1);
    const forget = (): void => {
      for (const token of tokens) {
        const left = (this.#tokens.get(token) ?? 1) - 1;
        if (left === 0) this.#tokens.delete(token);
        else this.#tokens.set(token, left);
      }
    };
    const later = (): void => void setImmediate(forget);
    work.then(later, later);
    return work;
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
