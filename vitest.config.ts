import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = fileURLToPath(new URL("./src/", import.meta.url));

// vitest reads its configuration from a default export only.
export default defineConfig({
  resolve: {
    // In-process tests run the sources. Children started by a test resolve "holdfast" through `exports`, to dist.
    alias: [
      { find: /^holdfast$/, replacement: `${src}index.ts` },
      { find: /^holdfast\/([a-z-]+)$/, replacement: `${src}$1.ts` },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    // A process per file: suites open database files, start children and end them.
    pool: "forks",
    // Most files wait for children of theirs, so even two processors have room for two at a time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // No test waits for time to pass; the limits only end what hangs, on slow and busy machines too.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
  },
});
