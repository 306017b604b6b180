import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import { HoldfastError } from "../task/fault.ts";
import type { Clock } from "./clock.ts";
import { retryDelay } from "./retry-delay.ts";
import { waitFor } from "./wait-for.ts";

/**
 * Writes, and where the store fails (a full disk, for one) tries again until it does not: work that is done must
 * not be lost to a store that recovers. Gives up when `signal` aborts or the store is closed.
 */
export async function writeUntilStored<N extends TaskCommandName>(
  store: TaskStore,
  command: TaskCommand<N>,
  clock: Clock,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<CommandResult<N>> {
  for (let failures = 1; ; failures++) {
    try {
      return await store.write(command);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "store_failed") throw error;
      onError(error);
      await waitFor(clock, retryDelay(failures, clock), signal);
    }
  }
}
