import type { ReceiveTasksOptions } from "../../connect-options.ts";
import { loadReceiving, type LoadedReceiving } from "../../generations.ts";
import type { Receiver } from "./receiver.ts";
import type { SharedRuntime } from "./shared-runtime.ts";

export interface LoadedReceiver {
  readonly Receiver: typeof Receiver;
  readonly receiving: LoadedReceiving;
  readonly runtime: SharedRuntime;
}

/** Loaded on demand, since it imports the server's runtime. */
export async function loadReceiver(options: ReceiveTasksOptions): Promise<LoadedReceiver> {
  const [{ Receiver: Loaded }, { shareRuntime }, receiving] = await Promise.all([
    import("./receiver.ts"),
    import("./shared-runtime.ts"),
    loadReceiving(),
  ]);
  return { Receiver: Loaded, receiving, runtime: await shareRuntime(options) };
}
