import { spawn } from "node:child_process";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";

const main = fileURLToPath(new URL("../../bench/postgres/main.ts", import.meta.url));
/** All of them start some twenty processes. */
const names = fullForm ? [] : ["lives", "stored", "apart"];

it("measures each figure about Postgres", { timeout: 120_000 }, async () => {
  const bench = spawn(process.execPath, [main, "--quick", "--json", ...names], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void bench.kill());
  const { figures } = (await json(bench.stdout)) as { figures: { name: string; ratio?: number }[] };
  expect(figures).toHaveLength(fullForm ? 15 : names.length);
  for (const figure of figures) expect(figure).toMatchObject({ ratio: expect.any(Number) as unknown });
});
