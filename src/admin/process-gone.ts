import { HoldfastError } from "../task/fault.ts";

/** Nothing can be done to a task for a while, whatever the store does: the process that runs it is gone. */
export class ProcessGone extends HoldfastError {
  constructor(id: string) {
    super(
      "store_failed",
      `The process that runs task ${id} is gone. Try again when another one has taken the task over.`,
    );
  }
}
