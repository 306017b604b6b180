// npm run demo:postgres: three nodes on one Postgres, one of which is killed. HOLDFAST_STORE=postgres://… takes another database.
import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { Screen } from "../index-folder/demo/screen.ts";
import type { ServerProcess } from "../index-folder/demo/server-process.ts";
import { ClusterDatabase } from "./database.ts";
import { proveCluster } from "./proof.ts";
import { ClusterStory } from "./story.ts";

/** Short, so that one need not wait: 15 s is the default. */
const leaseMs = 2_000;

async function run(store: string | undefined): Promise<boolean> {
  if (store !== undefined && !/^postgres(?:ql)?:\/\//i.test(store)) {
    throw new Error(
      "HOLDFAST_STORE must be postgres://HOST/DATABASE here; without it the demo starts a Postgres.",
    );
  }
  const workspace = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
  const nodes: ServerProcess[] = [];
  // Whatever happened, no process and no file of the demo is left.
  process.on("exit", () => {
    for (const node of nodes) node.killNow();
    rmSync(workspace, { recursive: true, force: true, maxRetries: 5 });
  });
  const database = await ClusterDatabase.open(store);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      const exit = (): never => process.exit(128 + constants.signals[signal]);
      Promise.all(nodes.map((node) => node.kill()))
        .then(() => database.close())
        .then(exit, exit);
    });
  }
  try {
    const screen = new Screen(process.stdout, process.env);
    const setup = {
      url: database.url,
      schema: database.schema,
      leaseMs,
      log: join(workspace, "pages.jsonl"),
    };
    const { moments, ...evidence } = await new ClusterStory({
      database,
      setup,
      screen,
      onNode: (node) => nodes.push(node),
    }).tell();
    screen.scene(6, "What happened, from the database and what the nodes noted:");
    for (const [at, text] of moments) screen.note(`${(at / 1_000).toFixed(2).padStart(6)} s  ${text}`);
    const claims = proveCluster(evidence);
    for (const { holds, text } of claims) screen.claim(holds, text);
    return claims.every(({ holds }) => holds);
  } finally {
    await Promise.all(nodes.map((node) => node.kill()));
    await database.close();
  }
}

process.stdout.on("error", () => process.exit(1)); // whoever read it has gone

try {
  const store = process.env["HOLDFAST_STORE"];
  const proved = await run(store === "" ? undefined : store);
  if (!proved) console.error("The proof does not hold.");
  process.exitCode = proved ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
