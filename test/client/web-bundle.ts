import { rolldown } from "rolldown";

/** The script of a page that takes these names from `holdfast/client`, with everything that they need, as a bundler for browsers makes it. */
export async function pageScript(
  source: string,
): Promise<{ readonly code: string; readonly imports: readonly string[] }> {
  const build = await rolldown({
    input: "page",
    platform: "browser",
    preserveEntrySignatures: "strict",
    resolve: { conditionNames: ["browser", "import", "module", "default"] },
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? `${process.cwd()}/page.js` : undefined),
        load: (id) => (id === `${process.cwd()}/page.js` ? source : undefined),
      },
    ],
    checks: { bundlerTimings: false },
  });
  const { output } = await build.generate({ codeSplitting: false });
  await build.close();
  const [{ code, imports, dynamicImports }] = output;
  return { code, imports: [...imports, ...dynamicImports] };
}
