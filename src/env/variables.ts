import { commandVariables } from "../options/command-variables.ts";
import { orKind, textKind } from "../options/kind.ts";
import { row, tableOf, text, type Row, type Table } from "../options/options.ts";
import { webhookOptions } from "../runtime/webhooks/webhook-options.ts";
import { corsOptions, httpOptions } from "../server/http/http-options.ts";
import {
  adminEndpointOptions,
  dashboardEndpointOptions,
  isOperatorPath,
  metricsEndpointOptions,
  operatorPath,
} from "../server/http/operator-options.ts";
import { rateOptions } from "../server/limits.ts";
import { tasksOptions } from "../server/tasks-options.ts";
import { postgresStoreOptions } from "../store/postgres/options.ts";
import { sqliteStoreOptions } from "../store/sqlite/sqlite-store.ts";

const token = "visible ASCII characters without spaces";
const isToken = (given: string): boolean => /^[\x21-\x7e]+$/.test(given);
const any = (): boolean => true;

class DeclaredEnvironmentOptions {
  /** Where tasks are stored. A Postgres URL may have the parameter `schema=NAME`. Default `sqlite:tasks.db`. */
  readonly store?: string = text("`sqlite:PATH`, `postgres://HOST/DATABASE` or `memory:`", any, {
    default: "sqlite:tasks.db",
    variable: "HOLDFAST_STORE",
    secret: true,
  });
  /** Encrypts the content of tasks. The first key encrypts, all of them decrypt. */
  readonly encryptionKeys?: string = text("`ID:BASE64`, with commas between several", any, {
    variable: "HOLDFAST_ENCRYPTION_KEYS",
    secret: true,
  });
  /** A folder, in which tasks keep the bytes of files instead of the store ([`folderBlobs`](../recipes/artifacts.md#keep-files-outside-of-the-store)). */
  readonly blobs?: string = text("a path", (given) => given !== "", { variable: "HOLDFAST_BLOBS" });
  /** Turns on the [admin endpoint](#admin-endpoint) and gives access to it. `holdfast admin URL` sends it. */
  readonly adminToken?: string = text(token, isToken, { variable: "HOLDFAST_ADMIN_TOKEN", secret: true });
  /**
   * Serves the [dashboard](../operate/dashboard.md) at a path, or at `/holdfast` with `true`. Its operators log in with `HOLDFAST_ADMIN_TOKEN`.
   * Default `false`.
   */
  readonly dashboard?: string | boolean = row(
    orKind(orKind(textKind(operatorPath, isOperatorPath), true), false),
    { default: false, variable: "HOLDFAST_DASHBOARD" },
  );
  /** Turns on the metrics endpoint and gives access to it, if the program has metrics. */
  readonly metricsToken?: string = text(token, isToken, { variable: "HOLDFAST_METRICS_TOKEN", secret: true });
}

/** What only an environment sets, because a program writes it in code. */
export interface EnvironmentOptions extends DeclaredEnvironmentOptions {}

export const environmentOptions = tableOf<EnvironmentOptions>(DeclaredEnvironmentOptions);

/** What variables set, in the order of the table in docs/operate/environment.md. */
export const variableTables: readonly Table<object>[] = [
  environmentOptions,
  sqliteStoreOptions,
  postgresStoreOptions,
  tasksOptions,
  rateOptions,
  webhookOptions,
  httpOptions,
  corsOptions,
  adminEndpointOptions,
  dashboardEndpointOptions,
  metricsEndpointOptions,
];

/** The variables for servers. Two options may share one. */
export const serverVariables: ReadonlyMap<string, Row> = new Map(
  variableTables.flatMap(({ rows }) =>
    [...rows.values()].flatMap((each) =>
      each.variable === undefined ? [] : [[each.variable, each] as const],
    ),
  ),
);

/** The variable for a secret's file. */
export function fileNameOf(name: string): string {
  return `${name}_FILE`;
}

/** All known names with our prefix. */
export const knownNames: ReadonlySet<string> = new Set([
  ...[...serverVariables].flatMap(([name, { isSecret }]) => (isSecret ? [name, fileNameOf(name)] : [name])),
  ...commandVariables,
]);
