import { insertInto } from "../tables/statements.ts";
import { deliveryTable, deliveryFailure, knownDeliveries } from "../tables/tables.ts";

const all = deliveryTable.list();

export const insertDelivery = insertInto(deliveryTable);
export const updateDeliveryTaken = "UPDATE delivery SET due_at = ?, tries = tries + 1 WHERE seq = ?";
export const updateDeliveryDue =
  "UPDATE delivery SET due_at = ?, tries = tries - ? WHERE seq = ? AND tries = ?";
export const updateDeliveryFailed =
  "UPDATE delivery SET due_at = ?, failed_at = ?, problem = ? WHERE seq = ? AND tries = ?";
export const updateDeliveryResent = "UPDATE delivery SET due_at = ? WHERE seq = ?";
export const deleteEndedDelivery = "DELETE FROM delivery WHERE seq = ? AND tries = ?";
export const deleteDelivery = "DELETE FROM delivery WHERE seq = ?";

export const selectDueDeliveries = `
  SELECT ${all} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at <= ? AND ${knownDeliveries} ORDER BY due_at, seq LIMIT ? + 0`;
export const selectLaterDeliveries = `
  SELECT ${all} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at > ? AND ${knownDeliveries} ORDER BY due_at, seq LIMIT ? + 0`;
export const selectGivenUpDeliveries = `
  SELECT ${all} FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at IS NULL AND ${knownDeliveries} ORDER BY seq LIMIT ? + 0`;
/** Among the oldest ones: those before a time, and those beyond the newest so many. */
export const selectExcessDeliveries = `
  SELECT seq FROM (SELECT seq, at FROM delivery ORDER BY seq LIMIT ? + 0)
  WHERE at < ? OR seq <= coalesce((SELECT seq FROM delivery ORDER BY seq DESC LIMIT 1 OFFSET ? + 0), -1)`;

export const selectNextDelivery = `
  SELECT due_at FROM delivery INDEXED BY delivery_due
  WHERE hook = ? AND due_at IS NOT NULL AND ${knownDeliveries} ORDER BY due_at LIMIT 1`;
/** The next webhook: one seek for each. */
export const selectNextHook =
  "SELECT hook FROM delivery INDEXED BY delivery_due WHERE hook > ? ORDER BY hook LIMIT 1";
export const countWaitingDeliveries = `
  SELECT count(*) AS count, min(at) AS oldest FROM (
    SELECT at FROM delivery INDEXED BY delivery_due WHERE hook = ? AND due_at IS NOT NULL LIMIT ? + 0)`;
export const countGivenUpDeliveries = `
  SELECT count(*) AS count FROM (
    SELECT 1 FROM delivery INDEXED BY delivery_due WHERE hook = ? AND due_at IS NULL LIMIT ? + 0)`;
/** For a task, among the newest ones. */
export const selectDeliveriesOfTask = `
  SELECT ${all} FROM delivery
  WHERE seq > coalesce((SELECT seq FROM delivery ORDER BY seq DESC LIMIT 1 OFFSET ? + 0), -1) AND task_id = ? ORDER BY seq`;
export const selectDeliveriesBefore = `
  SELECT ${all} FROM delivery WHERE seq < ? AND ${knownDeliveries} ORDER BY seq DESC LIMIT ? + 0`;
export const selectLastFailure = `
  SELECT ${deliveryFailure.list()} FROM delivery INDEXED BY delivery_failed
  WHERE hook = ? AND failed_at IS NOT NULL ORDER BY failed_at DESC LIMIT 1`;
