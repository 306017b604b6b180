import type { AdminAction } from "../../../admin/admin.ts";
import type { Column } from "../../output/fitted-table.ts";
import { timeText } from "../../output/times.ts";

export const actionColumns: readonly Column[] = [
  { title: "AT", least: 20 },
  { title: "WHO", least: 8 },
  { title: "ACTION", least: 7 },
  { title: "TASK OR TOOL", least: 16 },
  { title: "DETAIL", least: 8 },
];

export function actionRow({ at, actor, action, taskId, tool, detail }: AdminAction): readonly string[] {
  return [timeText(at), actor, action, taskId ?? tool ?? "", detail === null ? "" : JSON.stringify(detail)];
}
