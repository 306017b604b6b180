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

/** What operators have set. Each part has only what an environment names, beside the store. */
export interface EnvConfig {
  /** For `createTasks`. */
  readonly tasks: TasksOptions;
  /** For `serveHttp`. */
  readonly http: HttpOptions;
  /** For its `metrics`, beside the `source` of a program that has one; left out where there is no token. */
  readonly metrics?: Omit<MetricsEndpointOptions, "source">;
}

/**
 * What the variables `HOLDFAST_…` of an environment say, as options. What stands before it is what holds where they say nothing, and what
 * stands behind holds whatever they say. Throws `configuration`, with all that is wrong and with the names of the variables, also for names that
 * are none. Values of secrets are in no message.
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

/** Finds values that are fine each by itself, and not beside others. */
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
