import type { Tasks } from "holdfast";
import { addAdd } from "./add.ts";
import { addAppendLines } from "./append-lines.ts";
import { addAskModel } from "./ask-model.ts";
import { addBigResult } from "./big-result.ts";
import { addConfirmDelete } from "./confirm-delete.ts";
import { addFailingJob } from "./failing-job.ts";
import { addGreet } from "./greet.ts";
import { addIgnoresCancel } from "./ignores-cancel.ts";
import { addMultiInput } from "./multi-input.ts";
import { addNeverEnds } from "./never-ends.ts";
import { addNotIdempotent } from "./not-idempotent.ts";
import { addProgressTo } from "./progress-to.ts";
import { addProtocolErrorJob } from "./protocol-error-job.ts";
import { addSlowCompute } from "./slow-compute.ts";
import { addToolWithTask } from "./tool-with-task.ts";

/** Registers every tool that shows something about tasks. */
export function addTaskTools(tasks: Tasks): void {
  addGreet(tasks);
  addAdd(tasks);
  addSlowCompute(tasks);
  addFailingJob(tasks);
  addProtocolErrorJob(tasks);
  addConfirmDelete(tasks);
  addMultiInput(tasks);
  addAskModel(tasks);
  addToolWithTask(tasks);
  addAppendLines(tasks);
  addProgressTo(tasks);
  addNeverEnds(tasks);
  addIgnoresCancel(tasks);
  addBigResult(tasks);
  addNotIdempotent(tasks);
}
