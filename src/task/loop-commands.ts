/** What attempts say of loops. */
export interface LoopCommands {
  /**
   * Ends a round of a loop, whose entry is `key`: `value`, the state of the round `round`, replaces all entries of the loop's rounds, and the
   * task is queued to go on with it. `open` are the questions, calls and waits for events of the rounds that may be open: they end unanswered,
   * the tasks of these calls are cancelled, and ended tasks below this one are deleted.
   */
  next_round: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    /** Raw JSON. */
    readonly value: string;
    readonly round: number;
    readonly open: readonly string[];
  };
}
