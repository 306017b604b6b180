import { InvalidArgumentError, Option, type Command } from "commander";
import { protocolVersions } from "../generation/generations.ts";

export const serverForms = "a URL, a command line in quotes, or a name from a config file with mcpServers";

export const databaseForms = "the server's SQLite file, sqlite:PATH, or postgres://HOST/DATABASE";

export const placeForms = `${databaseForms.replace(", or postgres", ", postgres")}, or the URL of its admin endpoint`;

export const idForms = "the task's id, or the start of it";

export const pairForms =
  "key=value, converted by the tool's schema, key:=json, or key=@file; repeat a key to make a list";

export const configHelp = "a config file to use instead of your own and .mcp.json";

export const trustHelp = "trust the server's entry in .mcp.json, for this command";

export const jsonHelp = "print JSON; holdfast docs cli-json describes it";

/** A command with the options of all commands that reach a server. */
export function serverCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option("--json", jsonHelp)
    .option("--config <file>", configHelp)
    .option("--trust", trustHelp)
    .option(
      "--pass-env <name>",
      "a variable HOLDFAST_… to pass to a command line; it gets all others; can be repeated",
      collect,
    )
    .option(
      "--token <token>",
      "a bearer token; other users of this machine can see it, so prefer HOLDFAST_TOKEN",
    )
    .option("--header <line>", 'an HTTP header, "Name: value"; can be repeated', collect)
    .addOption(
      new Option(
        "--protocol <version>",
        "speak only this protocol version; earlier: the latest before 2026-07-28",
      ).choices([...protocolVersions, "earlier"]),
    )
    .addOption(
      new Option("--connect-timeout <seconds>", "how long connecting may take (default: no limit)").argParser(
        seconds,
      ),
    )
    .option("--insecure", "accept any certificate of the server, such as one that it signed itself")
    .option("--verbose", "print each message of the protocol on stderr, without secrets")
    .option("--record <file>", "append each message of the protocol to this file, for holdfast replay");
}

/** `--timeout`; `goesOn` says what happens to the work. */
export function timeoutOption(goesOn = "how long to wait; the task continues"): Option {
  return new Option("--timeout <seconds>", goesOn).argParser(seconds);
}

export function seconds(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !(number >= 0)) throw new InvalidArgumentError("It must be a number, 0 or more.");
  return number;
}

/** `--max-chars`. */
export function maxCharsOption(): Option {
  return new Option("--max-chars <count>", "print at most this many characters of the result").argParser(
    (text) => {
      if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
      return Number(text);
    },
  );
}

/** `--save`. */
export function saveOption(): Option {
  return new Option("--save <dir>", "save images, audio and resources to this folder, and print their paths");
}

export function collect(line: string, before: readonly string[] = []): readonly string[] {
  return [...before, line];
}
