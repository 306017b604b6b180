/** Who does something to tasks by hand, and what: what is recorded with the change, in one write. */
export interface ActionBy {
  /** The operator, as the authentication names it. */
  readonly actor: string;
  /** What is done, in a word: `cancel`, `retry`. */
  readonly action: string;
  /** The task that it is done to, where that is not the command's own. */
  readonly taskId?: string;
  /** Plain JSON data: what else there is to say of it. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** An action that changed something, or was to. */
export interface Action {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** The task that it was about; null for one about a tool. */
  readonly taskId: string | null;
  readonly tool: string | null;
  /** Raw JSON. */
  readonly detail: string | null;
}

/** An action as the store has it. */
export interface StoredAction extends Action {
  /** Grows with the order of actions. */
  readonly seq: number;
}
