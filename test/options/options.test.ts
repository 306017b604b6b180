import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect } from "holdfast/client";
import { configFromEnv, type EnvConfig } from "holdfast/env";
import { adminToken, serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it } from "vitest";
import { environmentOptions, variableTables } from "../../src/env/variables.ts";
import type { Row, Table } from "../../src/options/options.ts";
import { webhookOptions } from "../../src/runtime/webhooks/webhook-options.ts";
import { corsOptions, httpOptions } from "../../src/server/http/http-options.ts";
import {
  adminEndpointOptions,
  dashboardEndpointOptions,
  metricsEndpointOptions,
} from "../../src/server/http/operator-options.ts";
import { rateOptions } from "../../src/server/limits.ts";
import { tasksOptions } from "../../src/server/tasks-options.ts";
import { postgresStoreOptions } from "../../src/store/postgres/options.ts";
import { sqliteStoreOptions } from "../../src/store/sqlite/sqlite-store.ts";

/** A function that takes options in code, and where the options of variables come out. */
interface Door {
  readonly table: Table<object>;
  readonly call: (given: object) => unknown;
  /** Left out for stores, which show no options. */
  readonly read?: (config: EnvConfig) => unknown;
  /** What else has to be set. */
  readonly env?: Record<string, string>;
}

const secret = `whsec_${randomBytes(24).toString("base64")}`;
const authenticate = adminToken("of-operators");
const source = { contentType: "text/plain", text: async () => "" };
const hook = { name: "main", url: "https://hooks.example.com", secret };
const tasksWith = (given: object) => createTasks({ store: memoryStore(), ...given });
const serveWith = (given: object): Promise<unknown> =>
  serveHttp(
    tasksWith({}).server(() => new McpServer({ name: "test", version: "1" })),
    given,
  );

const doors: readonly (readonly [name: string, Door])[] = [
  ["createTasks", { table: tasksOptions, call: tasksWith, read: ({ tasks }) => tasks }],
  ["rates", { table: rateOptions, call: (rates) => tasksWith({ rates }), read: ({ tasks }) => tasks.rates }],
  [
    "a webhook",
    {
      table: webhookOptions,
      call: (given) => tasksWith({ webhooks: [{ ...hook, ...given }] }),
      read: ({ tasks }) => tasks.webhooks?.[0],
      env: { HOLDFAST_WEBHOOK_URL: hook.url, HOLDFAST_WEBHOOK_SECRET: secret },
    },
  ],
  ["serveHttp", { table: httpOptions, call: serveWith, read: ({ http }) => http }],
  [
    "cors",
    {
      table: corsOptions,
      call: (given) => serveWith({ cors: { origins: [], ...given } }),
      read: ({ http }) => http.cors,
    },
  ],
  [
    "admin",
    {
      table: adminEndpointOptions,
      call: (given) => serveWith({ admin: { authenticate, ...given } }),
      read: ({ http }) => http.admin,
      env: { HOLDFAST_ADMIN_TOKEN: "of-operators" },
    },
  ],
  [
    "dashboard",
    {
      table: dashboardEndpointOptions,
      call: (given) => serveWith({ dashboard: { authenticate, ...given } }),
      read: ({ http }) => http.dashboard,
      env: { HOLDFAST_ADMIN_TOKEN: "of-operators", HOLDFAST_DASHBOARD: "true" },
    },
  ],
  [
    "metrics",
    {
      table: metricsEndpointOptions,
      call: (given) => serveWith({ metrics: { source, authenticate, ...given } }),
      read: ({ metrics }) => metrics,
      env: { HOLDFAST_METRICS_TOKEN: "of-prometheus" },
    },
  ],
  [
    "sqliteStore",
    { table: sqliteStoreOptions, call: (given) => sqliteStore(join(tmpdir(), "never-opened.db"), given) },
  ],
  [
    "postgresStore",
    { table: postgresStoreOptions, call: (given) => postgresStore("postgres://db/tasks", given) },
  ],
];

/** A text for each variable whose option has no default, or one that another option forbids. */
const samples: Readonly<Record<string, readonly [text: string, value: unknown]>> = {
  HOLDFAST_TTL: ["5m", 300_000],
  HOLDFAST_INPUT_TIMEOUT: ["none", null],
  HOLDFAST_WORKER_THREADS: ["3", 3],
  HOLDFAST_MAX_WORKER_HEAP_BYTES: ["64MiB", 64 * 1024 ** 2],
  HOLDFAST_EXEC_FOLDER: ["/var/lib/holdfast/exec", "/var/lib/holdfast/exec"],
  HOLDFAST_HEALTH_PORT: ["9001", 9_001],
  HOLDFAST_DEPLOY: ["2026-11-28.1", "2026-11-28.1"],
  HOLDFAST_EVENTS_URL: ["https://example.com/events", "https://example.com/events"],
  HOLDFAST_WEBHOOK_URL: ["https://hooks.example.com/in", "https://hooks.example.com/in"],
  HOLDFAST_WEBHOOK_SECRET: [secret, [secret]],
  HOLDFAST_WEBHOOK_EVENTS: ["task.completed,task.failed", ["task.completed", "task.failed"]],
  HOLDFAST_WEBHOOK_ALLOW_PRIVATE: ["10.0.0.0/8", ["10.0.0.0/8"]],
  HOLDFAST_ALLOWED_HOSTS: ["reports.example.com, [::1]", ["reports.example.com", "[::1]"]],
  HOLDFAST_ALLOWED_ORIGINS: ["any", "any"],
  HOLDFAST_CORS_ORIGINS: ["https://app.example.com", ["https://app.example.com"]],
  HOLDFAST_MAX_REQUEST_BODY_SIZE: ["9MiB", 9 * 1024 ** 2],
  HOLDFAST_SQLITE_MAX_BYTES: ["1GiB", 1024 ** 3],
  HOLDFAST_POSTGRES_DIRECT_URL: ["postgres://db/tasks", "postgres://db/tasks"],
  HOLDFAST_POSTGRES_READ_URL: ["postgres://replica/tasks", "postgres://replica/tasks"],
  HOLDFAST_POSTGRES_PREPARED_STATEMENTS: ["true", true],
  HOLDFAST_DASHBOARD_TRACE_URL: [
    "https://traces.example.com/{traceId}",
    "https://traces.example.com/{traceId}",
  ],
  HOLDFAST_DASHBOARD_RUNBOOK_URL: ["https://wiki.example.com/{tool}", "https://wiki.example.com/{tool}"],
};

const variablesOf = ({ rows }: Table<object>): [name: string, row: Row, variable: string][] =>
  [...rows].flatMap(([name, row]) =>
    row.variable === undefined ? [] : ([[name, row, row.variable]] as [string, Row, string][]),
  );

async function messageOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

/** The words of a kind as messages have them, from "must be" on. */
const wordsOf = (message: string): string => /must be [^,]*/.exec(message)?.[0] ?? message;

it("has a door for each table with variables", () => {
  const tables = doors.map(([, { table }]) => table);
  expect(variableTables.filter((table) => table !== environmentOptions && !tables.includes(table))).toEqual(
    [],
  );
});

describe.each(doors)("%s", (_, { table, call, read, env }) => {
  it("takes each option from its variable", () => {
    for (const [name, row, variable] of variablesOf(table)) {
      const [text, value] = samples[variable] ?? [row.kind.textOf(row.default), row.default];
      const config = configFromEnv({ HOLDFAST_STORE: "memory:", ...env, [variable]: text });
      if (read !== undefined)
        expect([variable, read(config)]).toEqual([variable, expect.objectContaining({ [name]: value })]);
    }
  });

  it("refuses the same values in code and in a variable, in the same words", async () => {
    for (const [name, { kind, isSecret, default: usual }, variable] of variablesOf(table)) {
      const numbers = typeof usual === "number" ? [0, 1, 999, 1_001, 65_536, 2 ** 53] : [];
      for (const wrong of ["not / a value", ...numbers].filter((value) => !kind.accepts(value))) {
        const inCode = await messageOf(() => call({ [name]: wrong }));
        const problems = await messageOf(() => configFromEnv({ ...env, [variable]: String(wrong) }));
        const inText = problems.split("\n").find((line) => line.startsWith(`${variable} must be `)) ?? "";
        expect([variable, wordsOf(inText)]).toEqual([variable, wordsOf(inCode)]);
        expect(inCode).toContain(`${name} must be `);
        // A secret may be nearly right.
        for (const said of [inCode, inText]) expect(said.includes(String(wrong))).toBe(!isSecret);
      }
    }
  });

  it("suggests what a name that is wrong by a letter was meant to be", async () => {
    for (const name of table.rows.keys())
      expect(await messageOf(() => call({ [`${name}x`]: 1 }))).toContain(`Did you mean ${name}?`);
    for (const [, , variable] of variablesOf(table))
      expect(await messageOf(() => configFromEnv({ [`${variable}X`]: "1" }))).toBe(
        `Holdfast has no variable ${variable}X. Did you mean ${variable}?`,
      );
  });
});

it("shows no string where an object or a function belongs, because it may be a secret", async () => {
  const misplaced = "of-operators";
  const calls = [
    () => tasksWith({ webhooks: misplaced }),
    () => tasksWith({ webhooks: [misplaced] }),
    () => serveWith({ authenticate: misplaced }),
    () => serveWith({ admin: misplaced }),
    () => serveWith({ admin: { authenticate: misplaced } }),
    () => serveWith({ metrics: { source, authenticate: misplaced } }),
    () => serveWith({ dashboard: { authenticate: misplaced } }),
    () => connect("http://127.0.0.1:9/mcp", { auth: misplaced as never }),
    () => connect("http://127.0.0.1:9/mcp", { headers: misplaced as never }),
  ];
  for (const call of calls) {
    const message = await messageOf(call);
    expect(message).toMatch(/ must be | takes its options as an object/);
    expect(message).not.toContain(misplaced);
  }
});

it("refuses a list that JSON cannot show as any other wrong value", async () => {
  expect(await messageOf(() => serveWith({ allowedHosts: [1n] }))).toMatch(
    /allowedHosts must be .*, not an array\.$/,
  );
});
