import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { PeerFacts } from "./peer-facts.ts";

type Named = Pick<PeerFacts, "peer" | "package" | "as">;

/**
 * What docs/reference/compatibility.md says of a peer: each fact is the title of a test that passed in this run. Tests of a peer in
 * several files have a record each.
 */
export class PeerRecord {
  readonly #named: Named;
  readonly #file: string;
  readonly #works: string[] = [];
  readonly #lacks: PeerFacts["lacks"][number][] = [];
  readonly #protocols = new Set<string>();
  #tests = 0;

  /** `file` is the name of the record in `facts/`. */
  constructor(file: string, named: Named) {
    this.#file = file;
    this.#named = named;
  }

  /** A test of what works. */
  works(fact: string, run: () => Promise<void>): void {
    this.#test(fact, async () => {
      await run();
      this.#works.push(fact);
    });
  }

  /** A test that shows what does not work; only `owner` can change that. */
  lacks(fact: string, owner: string, run: () => Promise<void>): void {
    this.#test(fact, async () => {
      await run();
      this.#lacks.push({ what: fact, owner });
    });
  }

  /** The protocol version that a test has seen on the wire, or was told of by the peer. */
  speaks(protocolVersion: unknown): void {
    this.#protocols.add(String(protocolVersion));
  }

  /** The last test: all of this is what `facts/` has. `vitest -u` writes it, and then docs/reference/compatibility.md in `test/docs`. */
  isAsWritten(): void {
    it("is as docs/reference/compatibility.md says", async () => {
      const facts = this.#works.length + this.#lacks.length;
      expect(facts, "All tests of the record have to run, and to pass, before it is compared.").toBe(
        this.#tests,
      );
      const protocols = [...this.#protocols];
      expect(protocols).toHaveLength(1);
      const [protocol = ""] = protocols;
      const found: PeerFacts = {
        ...this.#named,
        version: versionOf(this.#named.package),
        protocol,
        works: this.#works,
        lacks: this.#lacks,
      };
      await expect(`${JSON.stringify(found, null, 2)}\n`).toMatchFileSnapshot(
        fileURLToPath(new URL(`../facts/${this.#file}.json`, import.meta.url)),
      );
    });
  }

  /** For a busy machine; a test takes seconds. */
  #test(title: string, run: () => Promise<void>): void {
    this.#tests++;
    it(title, { timeout: 120_000 }, run);
  }
}

/** Of the package that is installed: in the folder of the peers where that names it, else in this repository. */
function versionOf(name: string): string {
  const { dependencies } = manifest("../clients/package.json") as {
    dependencies: Readonly<Record<string, string>>;
  };
  const folder = name in dependencies ? "../clients" : "../../..";
  return (manifest(`${folder}/node_modules/${name}/package.json`) as { version: string }).version;
}

function manifest(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
}
