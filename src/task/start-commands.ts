import type { CauseMark } from "./cause.ts";

/** What operators say of tools, processes and causes, and what they did. These commands change no task; each process learns when it renews. */
export interface StartCommands {
  /** From now on, tasks of the tool are not started; running ones continue. Changes nothing if it is already paused. */
  pause_tool: { readonly tool: string; readonly actor: string };
  resume_tool: { readonly tool: string };
  /**
   * The owner is to take nothing new, and to end what it works on by `until` (epoch ms); `null`: it goes on as before. Changes nothing if the
   * owner is gone.
   */
  drain_owner: { readonly owner: string; readonly until: number | null };
  /** Replaces what operators say of failures of a cause. */
  mark_cause: { readonly mark: CauseMark };
  /** Changes nothing: the store records the action that comes with it. */
  record_action: Readonly<Record<never, never>>;
}

/** What they answer. */
export type StartResults = { readonly [Name in keyof StartCommands]: { readonly ok: true } };
