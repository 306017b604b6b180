import { resolveOptions } from "../runtime/resolve-options.ts";
import { bodyReadLimits, connectionLimits, nodeRequestLimits } from "../server/http/limits.ts";
import type { HttpOptions } from "../server/http/http-options.ts";
import type { MetricsEndpointOptions } from "../server/http/metrics/metrics-options.ts";
import type { TasksOptions } from "../server/tasks.ts";
import { HoldfastError } from "../task/fault.ts";
import { EnvReader, type Environment } from "./env-reader.ts";
import { readHttp, readMetrics } from "./http-variables.ts";
import { readStore } from "./store-variables.ts";
import { readTasks } from "./task-variables.ts";
import { readWebhooks } from "./webhook-variables.ts";
import { knownNames } from "./variables.ts";

/** The operators' settings. Apart from the store, each part contains only what the environment sets. */
export interface EnvConfig {
  /** For `createTasks`. */
  readonly tasks: TasksOptions;
  /** For `serveHttp`. */
  readonly http: HttpOptions;
  /** For its `metrics`; add the `source` of your program. Left out if there is no token. */
  readonly metrics?: Omit<MetricsEndpointOptions, "source">;
}

/**
 * Reads the variables `HOLDFAST_…` of an environment as options. Spread your defaults before it, and your overrides after it. Throws
 * `configuration` with all mistakes and the names of their variables; unknown names are mistakes too. No message contains the value of a
 * secret.
 *
 * ```ts
 * const config = configFromEnv(process.env);
 * const tasks = createTasks({ concurrency: 16, ...config.tasks });
 * await serveHttp(tasks.server(makeServer), { ...config.http, authenticate });
 * ```
 */
export function configFromEnv(env: Environment): EnvConfig {
  const reader = new EnvReader(env, knownNames);
  const tasks = readTasks(reader);
  const webhooks = readWebhooks(reader);
  const http = readHttp(reader);
  const metrics = readMetrics(reader);
  checkTogether(reader, tasks, http);
  const store = readStore(reader);
  const fault = reader.fault();
  if (fault !== undefined) throw fault;
  return {
    tasks: { ...tasks, store, ...(webhooks !== undefined && { webhooks }) },
    http,
    ...(metrics !== undefined && { metrics }),
  };
}

/** Finds values that are valid alone, but not together. */
function checkTogether(reader: EnvReader, tasks: Omit<TasksOptions, "store">, http: HttpOptions): void {
  try {
    bodyReadLimits({ options: resolveOptions(tasks) }, http);
    connectionLimits(http);
    nodeRequestLimits(http);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    reader.found(error);
  }
}
