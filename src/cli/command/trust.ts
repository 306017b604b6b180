import type { Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { TrustJson } from "../output/json-shapes.ts";
import { describeEntry } from "../server/folder-entry.ts";
import { entryOf, folderConfigPath, readFolderConfig } from "../server/host-config.ts";

export interface TrustOptions {
  readonly revoke?: true;
}

interface TrustCommand {
  readonly name: string;
  readonly options: TrustOptions;
}

/** `holdfast trust NAME`: trusts an entry of the working directory's file until it changes, or no longer. */
export async function trust(
  { io, output, state }: Context,
  { name, options }: TrustCommand,
): Promise<ExitCode> {
  const path = folderConfigPath(io.cwd);
  const config = await readFolderConfig(io.cwd);
  if (config === undefined)
    throw new UsageError(`There is no ${path}: trust is for the servers that it names.`);
  const entry = entryOf(config, name);
  if (entry === undefined) {
    const names = [...config.servers.keys()].map((each) => JSON.stringify(each)).join(", ");
    throw new UsageError(
      `There is no server ${JSON.stringify(name)} in ${path}, which has ${names || "none"}.`,
    );
  }
  const trusted = options.revoke !== true;
  if (trusted) await state.trusted.add({ path, name, entry });
  else await state.trusted.remove({ path, name });
  const document: TrustJson = { name, file: path, trusted };
  if (output.json) await output.printJson(document);
  else
    output.note(
      trusted
        ? `trusted ${JSON.stringify(name)} in ${path}, until its entry changes:\n${describeEntry(entry)}`
        : `${JSON.stringify(name)} in ${path} is no longer trusted`,
    );
  return exitCodes.done;
}
