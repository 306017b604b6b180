import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";
import { apart, shortened, slow } from "./test/suites.ts";

const src = fileURLToPath(new URL("./src/", import.meta.url));

// Suites that take any store take Postgres with HOLDFAST_TEST_STORE=postgres.
const inPostgres = fileURLToPath(new URL("./test/places/memory-in-postgres.ts", import.meta.url));
const onPostgres = process.env["HOLDFAST_TEST_STORE"] === "postgres";
const isEncrypted = process.env["HOLDFAST_TEST_ENCRYPTED"] !== undefined;
const mode = process.env["HOLDFAST_TEST"];
const isWhole = mode === "full" || onPostgres || isEncrypted;

/** Full forms try more, beside more. */
const limitMs = mode === "slow" || isWhole ? 120_000 : 30_000;

/** The files of this run; of those, the command line may name some. */
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
    // Processes, since suites end children, locks and databases. Files share one, and with it its modules: none keeps
    // state in a module, and loading the sources for each file would take longer than its tests.
    pool: "forks",
    isolate: false,
    // Most files wait for children of theirs, so two processors have room for four at a time.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // What Node compiled is kept for the next worker thread, child and run.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/compiled", import.meta.url)) },
    // Success prints a line for each file and nothing else.
    slowTestThreshold: 60_000,
    silent: "passed-only",
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // No test waits for time to pass; the limits only end what hangs, on slow and busy machines too.
    testTimeout: limitMs,
    hookTimeout: limitMs,
    teardownTimeout: limitMs,
    expect: { poll: { timeout: limitMs - 5_000 } },
  },
});
