import type { UserCallbacks } from "../../question/ask-user.ts";
import type { ReceiveTasksOptions } from "../../receive-options.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";

/** What a client needs on one connection to take a server's questions as tasks. */
export interface ReceiverSetup {
  readonly requester: RawRequester;
  /** How this client names the server: its tasks are hidden from all others (C-118, S-085). */
  readonly server: string;
  readonly callbacks: UserCallbacks;
  readonly options: ReceiveTasksOptions;
}
