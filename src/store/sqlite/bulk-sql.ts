import { insertInto, upsertInto } from "../tables/statements.ts";
import { actionTable, bulkJobTable, bulkTaskTable, isUnderWay } from "../tables/tables.ts";

const job = bulkJobTable.list();
const task = bulkTaskTable.list();

export const selectBulkJob = `SELECT ${job} FROM bulk_job WHERE id = ?`;
export const selectBulkUnderWay = `
  SELECT ${job} FROM bulk_job INDEXED BY bulk_job_under_way WHERE ${isUnderWay} ORDER BY id LIMIT ? + 0`;
export const selectBulkJobs = `SELECT ${job} FROM bulk_job WHERE id < ? ORDER BY id DESC LIMIT ? + 0`;
export const selectOldestBulk = `SELECT ${job} FROM bulk_job ORDER BY id LIMIT ? + 0`;
export const selectBulkTasks = `
  SELECT ${task} FROM bulk_task INDEXED BY bulk_task_end
  WHERE job = ? AND ended_as IS ? AND place > ? ORDER BY place LIMIT ? + 0`;
export const countBulkTasks = `
  SELECT ended_as, count(*) AS count FROM bulk_task INDEXED BY bulk_task_end WHERE job = ? GROUP BY ended_as`;
export const selectBulkOn = `
  SELECT ${actionTable.list("action")}, ${bulkTaskTable.list("bulk_task")}
  FROM bulk_task INDEXED BY bulk_task_task JOIN action INDEXED BY action_job
    ON action.job IS NOT NULL AND action.job = bulk_task.job
  WHERE bulk_task.task_id = ? AND bulk_task.ended_as IS NOT NULL AND action.seq < ? ORDER BY bulk_task.job DESC LIMIT ? + 0`;

export const upsertBulkJob = upsertInto(bulkJobTable);
export const insertBulkTask = insertInto(bulkTaskTable);
export const endBulkTask = `
  UPDATE bulk_task SET ended_as = ?, created = ?, code = ?, message = ? WHERE job = ? AND place = ? AND ended_as IS NULL`;
export const deleteBulkTasks = "DELETE FROM bulk_task WHERE job = ?";
export const deleteBulkJob = "DELETE FROM bulk_job WHERE id = ?";
