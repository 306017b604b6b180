import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { bundledWriter } from "./test/bundled-writer.ts";
import { LongestFirst } from "./test/longest-first.ts";
import { SecondTries } from "./test/second-tries.ts";
import { markParts } from "./test/spec/mark-parts.ts";
import { alone, encrypted, postgres, quick, slow } from "./test/suites.ts";

const src = fileURLToPath(new URL("./src/", import.meta.url));

/** Stands in for `holdfast/memory` in the project "postgres". */
const memoryInPostgres = fileURLToPath(new URL("./test/places/memory-in-postgres.ts", import.meta.url));

/** What tests keep where users keep what their commands know, and the files of programs: nothing of an earlier run, and nothing of the user. */
const state = mkdtempSync(join(tmpdir(), "holdfast-test-state-"));
process.on("exit", () => rmSync(state, { recursive: true, force: true }));

const mode = process.env["HOLDFAST_TEST"] ?? "";
const isFull = mode === "full";

const writer = await bundledWriter();

/** No test waits for time to pass. The limits only end hanging tests, on slow and busy machines too; full forms try more. */
const limitMs = mode === "slow" || isFull ? 300_000 : 120_000;

const all = ["test/**/*.test.ts"];

/** The files of the project "main" in each mode. */
const files = {
  quick: { include: quick, exclude: [] },
  slow: { include: slow, exclude: [] },
  full: { include: all, exclude: alone },
}[mode] ?? { include: all, exclude: [...slow, ...alone] };

interface Project {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Runs after the others, one file at a time. */
  readonly isAlone?: boolean;
}

function project(
  name: string,
  { include, exclude = [], env = {}, isAlone = false }: Project,
): TestProjectInlineConfiguration {
  const isPostgres = name === "postgres";
  return {
    plugins: [writer, markParts()],
    resolve: {
      // In-process tests run the sources. Children started by a test resolve "holdfast" through `exports`, to dist.
      alias: [
        ...(isPostgres ? [{ find: /^holdfast\/memory$/, replacement: memoryInPostgres }] : []),
        { find: /^holdfast$/, replacement: `${src}index.ts` },
        { find: /^holdfast\/([a-z-]+)$/, replacement: `${src}$1.ts` },
      ],
    },
    test: {
      name,
      include: [...include],
      exclude: [...configDefaults.exclude, ...exclude],
      setupFiles: ["test/seed.ts", "test/spec/prove-sides.ts", ...(isPostgres ? [memoryInPostgres] : [])],
      // Processes, because suites end children, locks and databases. Files share one process and its modules: none keeps
      // state in a module, and loading the sources for each file would take longer than its tests.
      pool: "forks",
      isolate: false,
      // Most files wait for their child processes, so two processors have room for four files at a time, or five of the slow ones.
      maxWorkers: isAlone ? 1 : availableParallelism() + (mode === "" ? 2 : 3),
      sequence: { groupOrder: isAlone ? 1 : 0 },
      env: {
        // Keeps Node's compile cache for the next worker, child process and run.
        NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/compiled", import.meta.url)),
        XDG_STATE_HOME: state,
        ...env,
      },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      testTimeout: limitMs,
      hookTimeout: limitMs,
      expect: { poll: { timeout: limitMs - 5_000 } },
    },
  };
}

/** The same suites at other places. One run for all keeps the processors busy while some of it waits. */
const elsewhere = [
  project("postgres", { include: postgres, env: { HOLDFAST_TEST_STORE: "postgres" } }),
  project("encrypted", { include: encrypted, env: { HOLDFAST_TEST_ENCRYPTED: "1" } }),
];

// vitest reads its configuration from a default export only.
export default defineConfig({
  test: {
    projects: [
      project("main", files),
      ...(mode === "slow" || isFull ? elsewhere : []),
      ...(isFull ? [project("alone", { include: alone, isAlone: true })] : []),
    ],
    // Hundreds of tests kill processes beside each other. One that fails has a second try, and the end of the run names it.
    retry: 1,
    reporters: ["default", new SecondTries()],
    globalSetup: ["test/postgres/global-setup.ts"],
    sequence: { sequencer: LongestFirst },
    // Success prints one line for each file and nothing else.
    slowTestThreshold: 60_000,
    silent: "passed-only",
    teardownTimeout: limitMs,
  },
});
