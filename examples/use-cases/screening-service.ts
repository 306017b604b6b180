import { createServer, type IncomingMessage, type Server } from "node:http";
import { json } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";

// The job service of a laboratory. It knows nothing of MCP: PUT /jobs/NAME starts a job, GET reports its state, and DELETE cancels it.

export interface Molecule {
  readonly name: string;
  /** Its structure as text: https://en.wikipedia.org/wiki/SMILES */
  readonly smiles: string;
}

interface Work {
  readonly reference: string;
  readonly molecules: readonly Molecule[];
}

type Job =
  | { readonly state: "running" | "cancelled" }
  | { readonly state: "succeeded"; readonly scores: readonly (Molecule & { readonly score: number })[] }
  | { readonly state: "failed"; readonly error: string };

/** Scores molecules in jobs. Each begins when `turn` resolves, which gets the name of the job. */
export function screeningService(turn: (job: string) => Promise<void> = () => nextTurn()): Server {
  const jobs = new Map<string, Job>();

  async function run(name: string, { reference, molecules }: Work): Promise<void> {
    await turn(name);
    if (jobs.get(name)?.state === "cancelled") return;
    const score = (smiles: string): number => Math.round(similarity(reference, smiles) * 1_000) / 1_000;
    const scores = molecules.map((molecule) => ({ ...molecule, score: score(molecule.smiles) }));
    const tooSmall = `${reference} has fewer than ${length} characters.`;
    jobs.set(
      name,
      reference.length < length ? { state: "failed", error: tooSmall } : { state: "succeeded", scores },
    );
  }

  async function answer(request: IncomingMessage): Promise<{ status: number; body?: unknown }> {
    const name = /^\/jobs\/([\w-]+)$/.exec(request.url ?? "")?.[1];
    if (name === undefined) return { status: 404 };
    const job = jobs.get(name);
    if (request.method === "PUT") {
      if (job !== undefined) return { status: 200, body: job }; // the same job again
      // A declared length is a limit: the server reads no more of a body.
      if (Number(request.headers["content-length"] ?? Infinity) > 1024 * 1024) return { status: 413 };
      const work = (await json(request)) as Work;
      jobs.set(name, { state: "running" });
      void run(name, work);
      return { status: 201, body: { state: "running" } };
    }
    if (job === undefined) return { status: 404 };
    if (request.method === "DELETE" && job.state === "running") jobs.set(name, { state: "cancelled" });
    return { status: 200, body: jobs.get(name) };
  }

  return createServer((request, response) => {
    answer(request).then(
      ({ status, body = {} }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      () => response.writeHead(400).end("{}"),
    );
  });
}

/** How many characters of SMILES make one fragment. */
const length = 4;

/**
 * How alike two molecules are, from 0 to 1, by the fragments that their SMILES have in common: LINGO, of Vidal, Thormann and Pons, 2005.
 */
function similarity(one: string, other: string): number {
  const [a, b] = [fragments(one), fragments(other)];
  const all = [...new Set([...a.keys(), ...b.keys()])];
  const alike = all.map((fragment) => {
    const [inA, inB] = [a.get(fragment) ?? 0, b.get(fragment) ?? 0];
    return 1 - Math.abs(inA - inB) / (inA + inB);
  });
  return alike.reduce((sum, part) => sum + part, 0) / Math.max(1, all.length);
}

/** How often each fragment occurs in a molecule. Ring numbers carry no meaning, and an element is one character. */
function fragments(smiles: string): Map<string, number> {
  const text = smiles.replaceAll("Cl", "L").replaceAll("Br", "R").replaceAll(/\d/g, "0");
  const counts = new Map<string, number>();
  for (let start = 0; start + length <= text.length; start++) {
    const fragment = text.slice(start, start + length);
    counts.set(fragment, (counts.get(fragment) ?? 0) + 1);
  }
  return counts;
}
