import { join } from "node:path";
import type { ListLimits } from "../list-files.ts";

/** What the demo passes to its server. */
export interface DemoSetup {
  /** A real path. */
  readonly workspace: string;
  readonly database: string;
  readonly readLog: string;
  readonly reportFolder: string;
  readonly limits: Partial<ListLimits>;
  /** 0 for any. */
  readonly port: number;
}

export function demoSetup(workspace: string, limits: Partial<ListLimits>): DemoSetup {
  return {
    workspace,
    database: join(workspace, "tasks.db"),
    readLog: join(workspace, "reads.jsonl"),
    reportFolder: workspace,
    limits,
    port: 0,
  };
}
