import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { Texts } from "./form.ts";

/** How the texts of a store are encrypted. */
export interface Encryption {
  /** Call it once the inner store is open. */
  start(): Promise<void>;
  readonly sealing: Texts;
  readonly opening: Texts;
  keepSecret(command: Omit<TaskCommand<"keep_secret">, "type">): Promise<CommandResult<"keep_secret">>;
  hashKey(): Uint8Array | undefined;
}
