import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";
import { apart, shortened, slow } from "./test/suites.ts";

const src = fileURLToPath(new URL("./src/", import.meta.url));

// Suites that accept any store use Postgres with HOLDFAST_TEST_STORE=postgres.
const inPostgres = fileURLToPath(new URL("./test/places/memory-in-postgres.ts", import.meta.url));
const onPostgres = process.env["HOLDFAST_TEST_STORE"] === "postgres";
const isEncrypted = process.env["HOLDFAST_TEST_ENCRYPTED"] !== undefined;
const mode = process.env["HOLDFAST_TEST"];
const isWhole = mode === "full" || onPostgres || isEncrypted;

/** Full forms try more, and run with more load. */
const limitMs = mode === "slow" || isWhole ? 120_000 : 30_000;

/** The files of this run. The command line may name some of them. */
const suite =
  mode === "slow"
    ? { include: [...slow, ...shortened], exclude: [] }
    : { include: ["test/**/*.test.ts"], exclude: isWhole ? [] : [...apart, ...slow] };

// vitest reads its configuration from a default export only.
export default defineConfig({
  resolve: {
    // In-process tests run the sources. Children started by a test resolve "holdfast" through `exports`, to dist.
    alias: [
      ...(onPostgres ? [{ find: /^holdfast\/memory$/, replacement: inPostgres }] : []),
      { find: /^holdfast$/, replacement: `${src}index.ts` },
      { find: /^holdfast\/([a-z-]+)$/, replacement: `${src}$1.ts` },
    ],
  },
  test: {
    include: suite.include,
    exclude: [...configDefaults.exclude, ...suite.exclude],
    setupFiles: ["test/seed.ts", ...(onPostgres ? [inPostgres] : [])],
    globalSetup: ["test/postgres/global-setup.ts"],
    // Processes, because suites end children, locks and databases. Files share one process and its modules: none keeps
    // state in a module, and loading the sources for each file would take longer than its tests.
    pool: "forks",
    isolate: false,
    // Most files wait for their child processes, so two processors have room for four files at a time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Keeps Node's compile cache for the next worker, child process and run.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/compiled", import.meta.url)) },
    // Success prints one line for each file and nothing else.
    slowTestThreshold: 60_000,
    silent: "passed-only",
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // No test waits for time to pass. The limits only end hanging tests, on slow and busy machines too.
    testTimeout: limitMs,
    hookTimeout: limitMs,
    teardownTimeout: limitMs,
    expect: { poll: { timeout: limitMs - 5_000 } },
  },
});
