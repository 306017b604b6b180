import { joined, settingsOf, type Settings } from "../options/options.ts";
import { folderBlobs } from "../runtime/blobs/artifact-blobs.ts";
import { runtimeSettings } from "../runtime/options.ts";
import { resolveWebhooks, webhookOptions, type WebhookOptions } from "../runtime/webhooks/webhook-options.ts";
import { adminToken } from "../server/http/operator-endpoint.ts";
import { corsOptions, httpOptions, type HttpOptions } from "../server/http/http-options.ts";
import { bodyReadLimits } from "../server/http/request-body.ts";
import {
  adminEndpointOptions,
  dashboardEndpointOptions,
  metricsEndpointOptions,
  type MetricsEndpointOptions,
} from "../server/http/operator-options.ts";
import { rateOptions } from "../server/limits.ts";
import { tasksOptions, type TasksOptions } from "../server/tasks-options.ts";
import { encryptedStore } from "../store/encrypted-store.ts";
import { storeFromUrl } from "../store/from-url.ts";
import { postgresStoreOptions } from "../store/postgres/options.ts";
import { sqliteStoreOptions } from "../store/sqlite/sqlite-store.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { EnvReader, type Environment } from "./env-reader.ts";
import { environmentOptions, type EnvironmentOptions } from "./variables.ts";

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
  const reader = new EnvReader(env);
  const own = settingsOf<EnvironmentOptions, Unset>(environmentOptions, reader.read(environmentOptions));
  const tasks = readTasks(reader);
  const http = readHttp(reader, own);
  const metrics = reader.read(metricsEndpointOptions);
  checkTogether(reader, tasks, http);
  const store = readStore(reader, own);
  reader.assertNothingFound();
  return {
    tasks: {
      ...tasks,
      store: store as TaskStore, // or something was found
      ...(own.blobs !== undefined && { blobs: folderBlobs(own.blobs) }),
    },
    http,
    ...(own.metricsToken !== undefined && {
      metrics: { ...metrics, authenticate: adminToken(own.metricsToken, "metrics") },
    }),
  };
}

type Unset = "encryptionKeys" | "blobs" | "adminToken" | "metricsToken";

type OwnSettings = Settings<EnvironmentOptions, Unset>;

function readTasks(reader: EnvReader): Omit<TasksOptions, "store"> {
  const rates = reader.read(rateOptions);
  const webhooks = readWebhooks(reader);
  return {
    ...reader.read(tasksOptions),
    ...(Object.keys(rates).length > 0 && { rates }),
    ...(webhooks !== undefined && { webhooks }),
  };
}

/** The webhook of the environment; undefined if it sets none. */
function readWebhooks(reader: EnvReader): readonly WebhookOptions[] | undefined {
  const { url, secret, ...others } = reader.read(webhookOptions);
  if (url === undefined) return undefined;
  if (secret === undefined) {
    reader.foundIn(
      "HOLDFAST_WEBHOOK_URL",
      "its messages are signed with HOLDFAST_WEBHOOK_SECRET, which has no valid value.",
    );
    return undefined;
  }
  // The name in the store, in events and for operators.
  const hook = { ...others, name: "default", url, secret };
  attempt(
    () => resolveWebhooks([hook]),
    ({ message }) => reader.foundIn("HOLDFAST_WEBHOOK_URL", message),
  );
  return [hook];
}

function readHttp(reader: EnvReader, { adminToken: secret, dashboard }: OwnSettings): HttpOptions {
  const { origins } = reader.read(corsOptions);
  const place = reader.read(adminEndpointOptions);
  const traces = reader.read(dashboardEndpointOptions);
  if (dashboard !== false && secret === undefined)
    reader.foundIn("HOLDFAST_DASHBOARD", "its operators log in with HOLDFAST_ADMIN_TOKEN, which is not set.");
  return {
    ...reader.read(httpOptions),
    ...(origins !== undefined && { cors: { origins } }),
    ...(secret !== undefined && { admin: { ...place, authenticate: adminToken(secret) } }),
    // Its operators are those of the admin endpoint.
    ...(dashboard !== false && { dashboard: { ...(dashboard !== true && { path: dashboard }), ...traces } }),
  };
}

/** Finds values that are valid alone, but not together. */
function checkTogether(reader: EnvReader, tasks: Omit<TasksOptions, "store">, http: HttpOptions): void {
  attempt(
    () => bodyReadLimits({ options: runtimeSettings(tasks) }, http),
    (error) => reader.found(error, joined(tasksOptions, httpOptions)),
  );
}

/** The store that an environment names; undefined if it is refused. */
function readStore(
  reader: EnvReader,
  { store: url, encryptionKeys: keys }: OwnSettings,
): TaskStore | undefined {
  const options = { sqlite: reader.read(sqliteStoreOptions), postgres: reader.read(postgresStoreOptions) };
  const store = attempt(
    () => storeFromUrl(url, options),
    (error) => {
      // An invalid store URL may still contain a password.
      if (error.code === "store_url") reader.refuse("HOLDFAST_STORE", url);
      else reader.found(error, postgresStoreOptions);
    },
  );
  if (store === undefined || keys === undefined) return store;
  return attempt(
    () => encryptedStore(store, { keys }),
    ({ message }) => reader.foundIn("HOLDFAST_ENCRYPTION_KEYS", message),
  );
}

/** What `make` returns; if it refuses, `refused` is told. */
function attempt<T>(make: () => T, refused: (error: HoldfastError) => void): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    refused(error);
    return undefined;
  }
}
