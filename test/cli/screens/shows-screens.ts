import { expect, it } from "vitest";
import { fullForm } from "../../full-form.ts";
import type { Place } from "./servers.ts";
import { Shell } from "./shell.ts";

interface Visit {
  /** Started anew for each size. */
  readonly place: () => Promise<Place>;
  /** What the person types, to the server under that name. */
  readonly walk: (shell: Shell, server: string) => Promise<void>;
  /** Whether `npm run test:slow` shows it on the wide terminal; otherwise on the narrow one. The full form has both. */
  readonly isWide?: boolean;
}

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 60 },
];

/**
 * All that a person sees who goes this way, on a narrow and on a wide terminal, is that of `golden/`. `vitest -u` writes these files:
 * read them then as the person would.
 */
export function showsScreens(name: string, { place, walk, isWide = false }: Visit, folder = "golden"): void {
  for (const [at, size] of sizes.entries()) {
    it.runIf(fullForm || at === (isWide ? 1 : 0))(
      `${name} on ${size.columns} columns`,
      { timeout: 300_000 },
      async () => {
        const { server, servers, env } = await place();
        const shell = await Shell.open({
          ...size,
          ...(servers !== undefined && { servers }),
          ...(env !== undefined && { env }),
        });
        await walk(shell, server);
        await expect(shell.transcript).toMatchFileSnapshot(`${folder}/${name}-${size.columns}.txt`);
      },
    );
  }
}
