/**
 * The internal state of a task. `queued`: no attempt holds it. `running`: an attempt holds it under its token. `settled` and `cancelled`
 * are final.
 */
export type TaskState = "queued" | "running" | "settled" | "cancelled";

/**
 * The state of a task as seen from outside, before a generation translates it. `input_required` is not stored: it is an unfinished task
 * with open inputs.
 */
export type TaskStatus = "working" | "input_required" | "settled" | "cancelled";

export const taskStates: readonly TaskState[] = ["queued", "running", "settled", "cancelled"];

export function isTerminal(state: TaskState): boolean {
  return state === "settled" || state === "cancelled";
}

/** The external status of a record with this state and this number of open inputs. */
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
