/** An operator's action on tasks, recorded in the same write as the change. */
export interface ActionBy {
  /** The operator's name, from authentication. */
  readonly actor: string;
  /** The action, in one word: `cancel`, `retry`. */
  readonly action: string;
  /** The task that it affects, if that is not the command's task. */
  readonly taskId?: string;
  /** Further details as plain JSON data. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** A recorded action. */
export interface Action {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** The task that it affects; null for an action on a tool. */
  readonly taskId: string | null;
  readonly tool: string | null;
  /** Raw JSON. */
  readonly detail: string | null;
}

/** A stored action. */
export interface StoredAction extends Action {
  /** Grows in the order of actions. */
  readonly seq: number;
}
