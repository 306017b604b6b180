/**
 * Where the machinery stands with a task. `queued`: no attempt holds it. `running`: an attempt holds it under
 * its token. `settled` and `cancelled` are terminal: nothing leaves them.
 */
export type TaskState = "queued" | "running" | "settled" | "cancelled";

/**
 * What a task looks like from outside, before a generation projects it onto its own words. `input_required` is
 * not stored: it is an unfinished task with open inputs.
 */
export type TaskStatus = "working" | "input_required" | "settled" | "cancelled";

export const taskStates: readonly TaskState[] = ["queued", "running", "settled", "cancelled"];

export function isTerminal(state: TaskState): boolean {
  return state === "settled" || state === "cancelled";
}

/** What a record of this state and with so many open inputs is, seen from outside. */
export function statusOf(task: { readonly state: TaskState; readonly openInputs: number }): TaskStatus {
  switch (task.state) {
    case "settled":
    case "cancelled":
      return task.state;
    case "queued":
    case "running":
      return task.openInputs > 0 ? "input_required" : "working";
  }
}
