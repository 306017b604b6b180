import { existsSync, readFileSync } from "node:fs";
import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { Tasks } from "holdfast";
import * as z from "zod";
import { toEsModule, type Migration } from "./codemod.ts";

const FileReport = z.object({ file: z.string(), changes: z.number(), left: z.array(z.string()) });
type FileReport = z.infer<typeof FileReport>;

/** Migrates the packages of a folder from CommonJS to ES modules. */
export function addCodeMigration(tasks: Tasks, packages: string): void {
  tasks.tool(
    "migrate_package",
    {
      description:
        "Migrates a package from CommonJS to ES modules. Writes nothing unless told to, and only if all files can be migrated",
      inputSchema: z.object({ name: z.string().regex(/^\w[\w-]*$/), write: z.boolean().default(false) }),
      outputSchema: z.object({ written: z.boolean(), files: z.array(FileReport) }),
    },
    async ({ name, write }, task) => {
      const folder = join(packages, name);
      // The list of files is journalled: after a crash the task continues with the files that it began with.
      const files = await task.step("list", () => listFiles(folder));
      const reports: FileReport[] = [];
      for (const file of files) {
        const report = await task.step(["plan", file], async () => {
          const { changes, left } = await migrationOf(folder, file);
          return { file, changes, left: [...left] };
        });
        reports.push(report);
        void task.output(`${file}: ${[`${report.changes} changes`, ...report.left].join("; ")}`);
        task.progress(reports.length, files.length * 2, `planned ${file}`);
      }
      const isMigratable = reports.every(({ left }) => left.length === 0);
      if (!write || !isMigratable) {
        const text = isMigratable
          ? "All files can be migrated."
          : "Some files need a person, so nothing is written.";
        return { content: [{ type: "text", text }], structuredContent: { written: false, files: reports } };
      }

      for (const [place, { file, changes }] of reports.entries()) {
        // A step that a crash interrupts runs again: what is migrated already stays as it is.
        if (changes > 0) await task.step(["write", file], () => migrate(folder, file));
        task.progress(files.length + place + 1, files.length * 2, `migrated ${file}`);
      }
      await task.step("package.json", () => setType(folder));
      const text = `${reports.filter(({ changes }) => changes > 0).length} of ${files.length} files are migrated.`;
      return { content: [{ type: "text", text }], structuredContent: { written: true, files: reports } };
    },
  );
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true });
  const files = entries.map((file) => file.split(sep).join("/"));
  return files.filter((file) => file.endsWith(".js") && !file.includes("node_modules/")).toSorted();
}

async function migrationOf(folder: string, file: string): Promise<Migration> {
  const code = await readFile(join(folder, file), "utf8");
  return toEsModule(code, (specifier) => {
    const found = [specifier, `${specifier}.js`, `${specifier}/index.js`].find(
      (candidate) => candidate.endsWith(".js") && existsSync(join(folder, dirname(file), candidate)),
    );
    return found === undefined
      ? undefined
      : { specifier: found, code: readFileSync(join(folder, dirname(file), found), "utf8") };
  });
}

async function migrate(folder: string, file: string): Promise<void> {
  const { code, left } = await migrationOf(folder, file);
  if (left.length > 0) throw new Error(`${file} has changed since it was planned: ${left.join("; ")}`);
  await replace(join(folder, file), code);
}

async function setType(folder: string): Promise<void> {
  const path = join(folder, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as object;
  await replace(path, `${JSON.stringify({ ...manifest, type: "module" }, null, 2)}\n`);
}

/** The file is complete at any time, even if the process dies. */
async function replace(path: string, text: string): Promise<void> {
  const { mode } = await stat(path);
  await writeFile(`${path}.new`, text, { mode });
  await rename(`${path}.new`, path);
}
