import type { Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { TrustJson } from "../output/json-shapes.ts";
import { describeEntry } from "../server/folder-entry.ts";
import { entryIn, folderConfigPath, readFolderConfigs } from "../server/host-config.ts";

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
  const configs = await readFolderConfigs(io.cwd);
  if (configs.length === 0)
    throw new UsageError(`There is no ${folderConfigPath(io.cwd)}: trust is for the servers that it names.`);
  const found = entryIn(configs, name);
  if (found === undefined) {
    const places = configs.map(({ path, servers }) => {
      const names = [...servers.keys()].map((each) => JSON.stringify(each)).join(", ");
      return `${path}, which has ${names || "none"}`;
    });
    throw new UsageError(`There is no server ${JSON.stringify(name)} in ${places.join(", or in ")}.`);
  }
  const {
    config: { path },
    entry,
  } = found;
  const trusted = options.revoke !== true;
  if (trusted) state.trusted.add({ path, name, entry });
  else state.trusted.remove({ path, name });
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
