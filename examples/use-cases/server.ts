import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addAgentToAgent } from "./agent-to-agent.ts";
import { addCodeMigration } from "./code-migration.ts";
import { Corpus } from "./corpus.ts";
import { addDeepResearch, corpusServer } from "./deep-research.ts";
import { addDrugScreening } from "./drug-screening.ts";
import { addOnboarding, type Account, type System } from "./onboarding.ts";
import { screeningService } from "./screening-service.ts";
import { addTestExecution } from "./test-execution.ts";

// All six, on what is here: the sample library and documents, systems that are files, and folders of yours with packages and projects.
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const corpus = await Corpus.read(here("corpus"));
const laboratory = screeningService().listen(0, "127.0.0.1");
await once(laboratory, "listening");
const researcher = { url: "", tool: "research" }; // this server itself, as if it were another's

const tasks = createTasks({ store: sqliteStore("tasks.db") });
const service = `http://127.0.0.1:${(laboratory.address() as AddressInfo).port}/`;
addDrugScreening(tasks, { service, libraries: here("libraries") });
addOnboarding(tasks, ["directory", "payroll", "repository"].map(fileSystem));
addCodeMigration(tasks, process.env["PACKAGES"] ?? ".");
addTestExecution(tasks, process.env["PROJECTS"] ?? ".");
addDeepResearch(tasks, corpus);
addAgentToAgent(tasks, { researcher });

const server = tasks.server(() => corpusServer(corpus));
const http = await serveHttp(server, { port: Number(process.env["PORT"] ?? 3000) });
researcher.url = http.url;
console.log(http.url);

async function stop(): Promise<void> {
  await http.close();
  laboratory.close();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop());

/** A system whose accounts are a file. */
function fileSystem(name: string): System {
  const file = `${name}.json`;
  const change = async (edit: (accounts: Map<string, Account>) => unknown): Promise<void> => {
    const accounts = new Map(
      existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as [string, Account][]) : [],
    );
    edit(accounts);
    writeFileSync(file, JSON.stringify([...accounts], null, 2));
  };
  return {
    name,
    grant: (key, account) => change((accounts) => accounts.set(key, account)),
    revoke: (key) => change((accounts) => accounts.delete(key)),
  };
}
