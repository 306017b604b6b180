import type { Origin, TaskRecord } from "../../task/record.ts";
import type { PrincipalSlots } from "../dispatch/slots.ts";
import type { OwnContext } from "../own-context.ts";
import type { RuntimeSettings } from "../options.ts";
import type { Services } from "../services.ts";
import type { RunTrace } from "../telemetry/run-trace.ts";
import { runVersions, type RunVersions } from "../tool/tool-config.ts";
import type { Tool } from "../tool/tool.ts";
import type { TaskLines } from "./task-lines.ts";
import type { WorkLimitSetup } from "./slot-holder.ts";

type ArtifactLimits = Pick<RuntimeSettings, "maxArtifactBytes" | "maxArtifactsPerTask">;

export interface RunSetup {
  readonly taskId: string;
  /** What the idempotency keys of its steps begin with. */
  readonly stepKeys: string;
  readonly wireId: string;
  readonly attempt: number;
  /** For code that asks which version the task began with. */
  readonly versions: RunVersions;
  readonly maxBodyBytes: number;
  readonly limits: ArtifactLimits;
  readonly inOwnContext: OwnContext;
  /** The log and the output of its task, or of the run itself without a task. */
  readonly lines: TaskLines;
  /** The slots from which it has one; left out if it needs none. */
  readonly slots?: PrincipalSlots;
  /** How long its handler may work without a break; left out: no limit. */
  readonly limit?: WorkLimitSetup | undefined;
  /** Left out if nothing is traced. */
  readonly trace?: RunTrace | undefined;
  /** Creates a task for the run before something is journalled; left out for one that stays without. */
  readonly promote?: () => Promise<unknown>;
}

/** What a run has from its task, its tool and its runtime. */
export function ofTask(
  { id, wireId, attempt, toolVersion }: Pick<TaskRecord, "id" | "wireId" | "attempt" | "toolVersion">,
  { stepKeys = id }: Pick<Origin, "stepKeys">,
  tool: Tool,
  { inOwnContext, options }: Pick<Services, "inOwnContext" | "options">,
): Omit<RunSetup, "lines" | "slots" | "limit" | "trace" | "promote"> {
  const versions = runVersions(tool, { toolVersion });
  const { maxBodyBytes } = options;
  return { taskId: id, stepKeys, wireId, attempt, versions, maxBodyBytes, limits: options, inOwnContext };
}

/** The same for a run that begins without a task; a task that is made for it has this id. */
export function withoutTask(
  id: string,
  tool: Tool,
  services: Pick<Services, "inOwnContext" | "options">,
): ReturnType<typeof ofTask> {
  return ofTask({ id, wireId: id, attempt: 1, toolVersion: tool.version }, {}, tool, services);
}
