import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { configFromEnv } from "../../src/env/config-from-env.ts";
import type { Environment } from "../../src/env/env-reader.ts";
import { HoldfastError } from "../../src/task/fault.ts";

/** What is said of an environment that is refused. */
function problemsOf(env: Environment): string[] {
  try {
    configFromEnv(env);
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code: "configuration" });
    return error instanceof HoldfastError ? error.message.split("\n") : [];
  }
  throw new Error("Nothing was refused.");
}

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-env-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "secret");
  await writeFile(path, text);
  return path;
}

it("says nothing of what is not set, so that the author's own options hold", () => {
  const { tasks, http } = configFromEnv({ PATH: "/bin", HOLDFAST_CONCURRENCY: "", HOLDFAST_PORT: undefined });
  expect(Object.keys(tasks)).toEqual(["store"]);
  expect(http).toEqual({});
});

it("reads numbers, lengths of time, sizes, lists and switches", () => {
  const { tasks, http } = configFromEnv({
    HOLDFAST_STORE: "memory:",
    HOLDFAST_ROLES: "work, serve",
    HOLDFAST_CONCURRENCY: " 8 ",
    HOLDFAST_KEEP: "1.5h",
    HOLDFAST_TTL: "none",
    HOLDFAST_POLL_INTERVAL: "250",
    HOLDFAST_STOP_DEADLINE: "30s",
    HOLDFAST_BLOBS: "files",
    HOLDFAST_MAX_UNFINISHED: "none",
    HOLDFAST_MAX_BODY_BYTES: "8MiB",
    HOLDFAST_MAX_JOURNAL_BYTES: "1000000",
    HOLDFAST_CALLS_PER_MINUTE: "none",
    HOLDFAST_MAX_LOOP_DELAY: "2s",
    HOLDFAST_MAX_LISTENS_PER_PRINCIPAL: "5",
    HOLDFAST_HOST: "0.0.0.0",
    HOLDFAST_PORT: "0",
    HOLDFAST_PATH: "/tools",
    HOLDFAST_ALLOWED_HOSTS: "reports.example.com, localhost",
    HOLDFAST_ALLOWED_ORIGINS: "any",
    HOLDFAST_CORS_ORIGINS: "https://app.example.com",
    HOLDFAST_MAX_REQUEST_BODY_SIZE: "9MiB",
    HOLDFAST_SESSION_IDLE: "2h",
  });
  const { store: _, ...options } = tasks;
  expect(options).toEqual({
    roles: ["work", "serve"],
    concurrency: 8,
    keepMs: 5_400_000,
    ttlMs: null,
    pollIntervalMs: 250,
    stopDeadlineMs: 30_000,
    blobs: expect.objectContaining({ put: expect.any(Function) as unknown }) as unknown,
    maxUnfinished: null,
    maxBodyBytes: 8 * 1024 ** 2,
    maxJournalBytes: 1_000_000,
    rates: { callsPerMinute: null, maxLoopDelayMs: 2_000 },
    maxListensPerPrincipal: 5,
  });
  expect(http).toEqual({
    host: "0.0.0.0",
    port: 0,
    path: "/tools",
    allowedHosts: ["reports.example.com", "localhost"],
    allowedOrigins: "any",
    cors: { origins: ["https://app.example.com"] },
    maxRequestBodySize: 9 * 1024 ** 2,
    sessionIdleMs: 7_200_000,
  });
});

it.each([
  ["HOLDFAST_CONCURRENCY", "many", 'must be a whole number of at least 1, not "many".'],
  ["HOLDFAST_CONCURRENCY", "0", 'must be a whole number of at least 1, not "0".'],
  ["HOLDFAST_MAX_NESTING", "2000", 'must be a whole number from 1 to 1000, not "2000".'],
  [
    "HOLDFAST_KEEP",
    "10ms",
    'must be a length of time of at least 1s, such as 30s, 5m, 48h, 7d or a number of milliseconds, not "10ms".',
  ],
  [
    "HOLDFAST_TTL",
    "-1",
    'must be a length of time, such as 30s, 5m, 48h, 7d or a number of milliseconds, or "none", not "-1".',
  ],
  ["HOLDFAST_KEEP", "1.5ms", 'not "1.5ms".'],
  [
    "HOLDFAST_MAX_BODY_BYTES",
    "4MB",
    'must be a size above 0, such as 512KiB, 4MiB, 1GiB or a number of bytes, not "4MB".',
  ],
  [
    "HOLDFAST_ROLES",
    "server",
    'must be one or more of "serve" and "work", with commas between them, not "server".',
  ],
  ["HOLDFAST_PORT", "tcp://10.0.0.1:80", 'must be a whole number from 0 to 65535, not "tcp://10.0.0.1:80".'],
  ["HOLDFAST_PATH", "mcp", 'must be a path that begins with "/", not "mcp".'],
  ["HOLDFAST_PATH", "/mcp?x", 'must be a path that begins with "/", not "/mcp?x".'],
  ["HOLDFAST_PATH", "/my tools", 'must be a path that begins with "/", not "/my tools".'],
  ["HOLDFAST_ADMIN_PATH", "/admin/", 'must be a path such as "/ops", not "/admin/".'],
  ["HOLDFAST_METRICS_PATH", "/", 'must be a path such as "/ops", not "/".'],
  ["HOLDFAST_DASHBOARD", "/a b", 'must be a path such as "/ops", or true or false, not "/a b".'],
  [
    "HOLDFAST_CORS_ORIGINS",
    "app.example.com",
    'must be origins such as "https://app.example.com", with commas between them, or "any", not "app.example.com".',
  ],
  [
    "HOLDFAST_ALLOWED_HOSTS",
    "https://app.example.com",
    'must be host names without port, with commas between them, or "any", not "https://app.example.com".',
  ],
  [
    "HOLDFAST_ALLOWED_ORIGINS",
    "app.example.com:8443",
    'must be host names without port, with commas between them, or "any", not "app.example.com:8443".',
  ],
  ["HOLDFAST_MIGRATE", "yes", 'must be true or false, not "yes".'],
  [
    "HOLDFAST_ALLOWED_HOSTS",
    "a,,b",
    'must be host names without port, with commas between them, or "any", not "a,,b".',
  ],
])("refuses %s=%s and says what it takes", (name, value, said) => {
  const [problem = "", ...others] = problemsOf({ [name]: value });
  expect(problem.startsWith(`${name} `)).toBe(true);
  expect(problem.endsWith(said)).toBe(true);
  expect(others).toEqual([]);
});

describe("a webhook", () => {
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const url = "https://hooks.example.com/private-path";

  it("is one with all that is set, from files too", async () => {
    const { tasks } = configFromEnv({
      HOLDFAST_WEBHOOK_URL_FILE: await fileWith(`${url}\n`),
      HOLDFAST_WEBHOOK_SECRET: `${secret}, ${secret}`,
      HOLDFAST_WEBHOOK_EVENTS: "task.completed,task.failed",
      HOLDFAST_WEBHOOK_ALLOW_PRIVATE: "10.0.0.0/8",
    });
    expect(tasks.webhooks).toEqual([
      {
        name: "default",
        url,
        secret: [secret, secret],
        events: ["task.completed", "task.failed"],
        allowPrivate: ["10.0.0.0/8"],
      },
    ]);
    expect(() => createTasks({ ...tasks, store: memoryStore() })).not.toThrow();
  });

  it.each([
    [
      { HOLDFAST_WEBHOOK_URL: url },
      /^HOLDFAST_WEBHOOK_URL: its messages are signed with HOLDFAST_WEBHOOK_SECRET/,
    ],
    [
      { HOLDFAST_WEBHOOK_URL: "http://hooks.example.com", HOLDFAST_WEBHOOK_SECRET: secret },
      /^HOLDFAST_WEBHOOK_URL: .*https:/,
    ],
    [
      { HOLDFAST_WEBHOOK_URL: "https://10.0.0.7/", HOLDFAST_WEBHOOK_SECRET: secret },
      /^HOLDFAST_WEBHOOK_URL: .*10\.0\.0\.7/,
    ],
    [{ HOLDFAST_WEBHOOK_SECRET: "whsec_short" }, /^HOLDFAST_WEBHOOK_SECRET must be "whsec_"/],
    [{ HOLDFAST_WEBHOOK_EVENTS: "task.ended" }, /^HOLDFAST_WEBHOOK_EVENTS must be .*not "task\.ended"\.$/],
  ])("that could not work is refused by its variable: %j", (env, said) => {
    const problems = problemsOf(env);
    expect(problems).toEqual([expect.stringMatching(said)]);
    expect(problems.join()).not.toContain("private-path");
    expect(problems.join()).not.toContain("whsec_short");
  });
});

it("says all that is wrong at once", () => {
  const problems = problemsOf({ HOLDFAST_STORE: "tasks.db", HOLDFAST_PORT: "x", HOLDFAST_CONCURENCY: "8" });
  expect(problems).toEqual([
    "3 environment variables are wrong:",
    "Holdfast has no variable HOLDFAST_CONCURENCY. Did you mean HOLDFAST_CONCURRENCY?",
    'HOLDFAST_PORT must be a whole number from 0 to 65535, not "x".',
    'HOLDFAST_STORE must be "sqlite:PATH", "postgres://HOST/DATABASE" or "memory:".',
  ]);
});

it("finds names that mean nothing, and leaves those of others and of the command line alone", () => {
  expect(problemsOf({ HOLDFAST_ADMIN_TOKEN_FIEL: "x" })).toEqual([
    "Holdfast has no variable HOLDFAST_ADMIN_TOKEN_FIEL. Did you mean HOLDFAST_ADMIN_TOKEN_FILE?",
  ]);
  expect(problemsOf({ HOLDFAST_REGION: "10.0.0.1" })).toEqual(["Holdfast has no variable HOLDFAST_REGION."]);
  configFromEnv({ HOLDFAST_TOKEN: "t", HOLDFAST_STATE: "/s", MY_HOLDFAST_X: "1", holdfast_x: "1" });
});

it("says in their variables' names what does not fit together", () => {
  expect(problemsOf({ HOLDFAST_MIN_TTL: "60d" })).toEqual([
    "HOLDFAST_MIN_TTL is 5184000000, which is more than HOLDFAST_MAX_TTL (2592000000).",
  ]);
  expect(problemsOf({ HOLDFAST_MAX_PENDING_BYTES: "1MiB" })[0]).toMatch(
    /^HOLDFAST_MAX_PENDING_BYTES must be at least HOLDFAST_MAX_REQUEST_BODY_SIZE/,
  );
  expect(problemsOf({ HOLDFAST_STALL_TIMEOUT: "60d" })[0]).toMatch(/^HOLDFAST_STALL_TIMEOUT must be /);
});

it("shows no secret", () => {
  const problems = problemsOf({
    HOLDFAST_STORE: "postgress://app:s3cret/1@db/tasks",
    HOLDFAST_ADMIN_TOKEN: "s3cret with spaces",
  });
  expect(problems).toHaveLength(3);
  expect(problems.join()).not.toContain("s3cret");
});

it("reads secrets from files", async () => {
  const path = await fileWith("of-operators\n");
  const { http } = configFromEnv({ HOLDFAST_ADMIN_TOKEN_FILE: path, HOLDFAST_ADMIN_PATH: "/ops" });
  expect(http.admin?.path).toBe("/ops");
  const ask = (token: string): Request =>
    new Request("http://localhost/ops", { headers: { authorization: `Bearer ${token}` } });
  expect(await http.admin?.authenticate(ask("of-operators"))).toEqual({ actor: "operator" });
  expect(await http.admin?.authenticate(ask("of-others"))).toBeUndefined();
});

it("says which file of a secret cannot be used", async () => {
  const empty = await fileWith("\n");
  expect(problemsOf({ HOLDFAST_ADMIN_TOKEN_FILE: empty })).toEqual([
    `HOLDFAST_ADMIN_TOKEN_FILE names ${empty}, which is empty.`,
  ]);
  expect(problemsOf({ HOLDFAST_STORE_FILE: `${empty}-not` })).toEqual([
    `HOLDFAST_STORE_FILE names ${empty}-not, which cannot be read (ENOENT).`,
  ]);
  expect(problemsOf({ HOLDFAST_ADMIN_TOKEN: "a", HOLDFAST_ADMIN_TOKEN_FILE: empty })).toEqual([
    "HOLDFAST_ADMIN_TOKEN and HOLDFAST_ADMIN_TOKEN_FILE are both set. Leave one of them out.",
  ]);
});

it("lets whoever has a token of its own collect metrics, and nobody without one", async () => {
  const { http, metrics } = configFromEnv({ HOLDFAST_METRICS_TOKEN: "of-prometheus" });
  expect(http).toEqual({});
  const asked = new Request("http://localhost/metrics", {
    headers: { authorization: "Bearer of-prometheus" },
  });
  expect(await metrics?.authenticate(asked)).toEqual({ actor: "metrics" });
  expect(configFromEnv({ HOLDFAST_METRICS_PATH: "/m" }).metrics).toBeUndefined();
});

it("refuses a secret that did not arrive", () => {
  for (const name of ["HOLDFAST_ENCRYPTION_KEYS", "HOLDFAST_ADMIN_TOKEN_FILE", "HOLDFAST_STORE"])
    expect(problemsOf({ [name]: " " })).toEqual([
      `${name} is set but empty: set it to a value, or unset it.`,
    ]);
});

it("says what is wrong with keys, and shows none", () => {
  const [problem = ""] = problemsOf({ HOLDFAST_ENCRYPTION_KEYS: "first:c2hvcnQ=" });
  expect(problem).toMatch(/^HOLDFAST_ENCRYPTION_KEYS: .*"first" is not 32 bytes in base64/);
  expect(problem).not.toContain("c2hvcnQ");
});

it("refuses a direct URL that is none of Postgres, and does not show it", () => {
  for (const url of ["u:pass-9@db/tasks", "http://u:pass-9@db/tasks", "postgres://u:pass-9@db:99999/tasks"]) {
    const env = { HOLDFAST_STORE: "postgres://db/tasks", HOLDFAST_POSTGRES_DIRECT_URL: url };
    expect(problemsOf(env)).toEqual([
      'HOLDFAST_POSTGRES_DIRECT_URL must be "postgres://HOST/DATABASE", or "none".',
    ]);
  }
});

it.each([
  ["HOLDFAST_POSTGRES_TIMEOUT", "postgres://db/tasks"],
  ["HOLDFAST_POSTGRES_LEASE", "postgres://db/tasks"],
  ["HOLDFAST_SQLITE_BUSY_TIMEOUT", "sqlite:tasks.db"],
])("refuses in %s what no timer takes", (name, store) => {
  expect(problemsOf({ HOLDFAST_STORE: store, [name]: "30d" })).toEqual([expect.stringContaining(name)]);
  expect(() => configFromEnv({ HOLDFAST_STORE: store, [name]: "1h" })).not.toThrow();
});

it("serves the dashboard to the operators of the admin endpoint, and to nobody else", async () => {
  const admin = { HOLDFAST_ADMIN_TOKEN: "of-operators" };
  expect(configFromEnv({ ...admin }).http.dashboard).toBeUndefined();
  expect(configFromEnv({ ...admin, HOLDFAST_DASHBOARD: "false" }).http.dashboard).toBeUndefined();
  expect(configFromEnv({ ...admin, HOLDFAST_DASHBOARD: "true" }).http.dashboard).toEqual({});
  const traceUrl = "https://traces.example.com/trace/{traceId}";
  expect(
    configFromEnv({ ...admin, HOLDFAST_DASHBOARD: "/ops", HOLDFAST_DASHBOARD_TRACE_URL: traceUrl }).http
      .dashboard,
  ).toEqual({ path: "/ops", traceUrl });
  expect(problemsOf({ HOLDFAST_DASHBOARD: "true" })).toEqual([
    "HOLDFAST_DASHBOARD: its operators log in with HOLDFAST_ADMIN_TOKEN, which is not set.",
  ]);
  expect(problemsOf({ ...admin, HOLDFAST_DASHBOARD: "yes" })).toEqual([
    'HOLDFAST_DASHBOARD must be a path such as "/ops", or true or false, not "yes".',
  ]);
});

it("opens no admin endpoint where there is no token", () => {
  expect(configFromEnv({ HOLDFAST_ADMIN_PATH: "/ops" }).http).toEqual({});
});
