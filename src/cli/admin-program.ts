import type { Command } from "commander";
import { adminTaskStates, adminWaitReasons } from "../admin/task-state.ts";
import type { ActionsOptions } from "./command/admin/actions.ts";
import type { ManyTasksOptions } from "./command/admin/act-on-many.ts";
import type { RetryTaskOptions } from "./command/admin/act-on-task.ts";
import type { AnswerTaskOptions } from "./command/admin/answer-task.ts";
import type { DrainCommandOptions } from "./command/admin/drain.ts";
import type { ListTasksOptions } from "./command/admin/list-tasks.ts";
import type { ShowBulkOptions } from "./command/admin/show-bulk.ts";
import type { TopOptions } from "./command/admin/top.ts";
import { selectionText } from "./command/admin/selection.ts";
import { untilOf } from "./arguments/times.ts";
import type { Context } from "./context.ts";
import { addDatabaseCommands } from "./command/admin/database-commands.ts";
import type { ExitCode } from "./exit-code.ts";
import { databaseForms, idForms, jsonHelp, placeForms } from "./common-options.ts";
import { addOperationCommands, countOf } from "./command/admin/operation-commands.ts";
import { UsageError } from "./errors.ts";

/** `holdfast admin STORE …`: lets operators read a store and act on its tasks. */
export function addAdminCommands(admin: Command, context: Context, end: (code: ExitCode) => void): void {
  /** On the command line, the store comes before the command (`moveActionFirst`). */
  const command = (name: string, description: string, storeForms = placeForms): Command =>
    admin
      .command(name)
      .description(description)
      .configureHelp({ commandUsage: usage })
      .allowExcessArguments(false)
      .argument("<store>", storeForms)
      .option("--json", jsonHelp);
  const acting = (name: string, description: string): Command =>
    command(name, description).option(
      "--as <name>",
      "record actions under this name instead of your user name",
    );

  selecting(command("list", "list tasks, newest first"))
    .option("--limit <count>", "list at most this many", countOf, 50)
    .option("--after <id>", "only tasks older than this one")
    .action(async (place: string, options: ListTasksOptions) =>
      end(await (await import("./command/admin/list-tasks.ts")).listTasks(context, { place, options })),
    );
  addOperationCommands((name, words, isAct) => (isAct ? acting : command)(name, words), context, end);
  command("actions", "list operators' actions, newest first")
    .option("--task <id>", "only actions on this task")
    .option("--before <number>", "only actions before this number", countOf)
    .option("--limit <count>", "list at most this many", countOf, 50)
    .action(async (place: string, options: ActionsOptions) =>
      end(await (await import("./command/admin/actions.ts")).actions(context, { place, options })),
    );
  command("top", "watch tools and unfinished tasks live; press q to quit")
    .option("--once", "print it once and exit")
    .action(async (place: string, options: TopOptions) =>
      end(await (await import("./command/admin/top.ts")).top(context, { place, options })),
    );

  acting("answer", "answer a task's question")
    .argument("<id>", idForms)
    .argument("[key]", "the question's key, if several are open")
    .argument("[json]", "the result that a client would send, as JSON")
    .option("--accept [pairs...]", "accept, with key=value, converted by the question's schema, or key:=json")
    .option("--decline", "decline to answer")
    .action(
      async (
        place: string,
        id: string,
        key: string | undefined,
        value: string | undefined,
        options: AnswerTaskOptions,
      ) =>
        end(
          await (
            await import("./command/admin/answer-task.ts")
          ).answerTask(context, { place, id, key, value, options }),
        ),
    );
  many(acting("cancel", "cancel a task, or all selected ones")).action(
    async (place: string, given: string | undefined, options: ManyTasksOptions) => {
      const id = oneTask(given, options);
      end(
        id === undefined
          ? await (
              await import("./command/admin/act-on-many.ts")
            ).actOnMany(context, { place, action: "cancel", options })
          : await (
              await import("./command/admin/act-on-task.ts")
            ).cancelTask(context, { place, id, options }),
      );
    },
  );
  many(
    acting("retry", "run a finished task again as a new one that keeps what succeeded, or all selected ones"),
  )
    .option(
      "--arguments <json>",
      "run it with these arguments instead; results for the old ones are not kept",
    )
    .option("--keep-up-to <name>", "keep only what succeeded up to and including this step or question")
    .option("--from-start", "repeat everything as new, also payments that went through")
    .action(
      async (place: string, given: string | undefined, options: ManyTasksOptions & RetryTaskOptions) => {
        const { arguments: other, keepUpTo } = options;
        const id = oneTask(given, options);
        if (id !== undefined)
          return end(
            await (await import("./command/admin/act-on-task.ts")).retryTask(context, { place, id, options }),
          );
        if (other !== undefined || keepUpTo !== undefined)
          throw new UsageError("--arguments and --keep-up-to work on one task at a time.");
        end(
          await (
            await import("./command/admin/act-on-many.ts")
          ).actOnMany(context, { place, action: "retry", options }),
        );
      },
    );
  many(acting("delete", "delete a finished task, or all selected ones")).action(
    async (place: string, given: string | undefined, options: ManyTasksOptions) => {
      const id = oneTask(given, options);
      end(
        id === undefined
          ? await (
              await import("./command/admin/act-on-many.ts")
            ).actOnMany(context, { place, action: "delete", options })
          : await (
              await import("./command/admin/act-on-task.ts")
            ).deleteTask(context, { place, id, options }),
      );
    },
  );
  selectingMany(
    acting("extend", "let a task run longer, or keep a finished one longer, or do so for all selected ones"),
  )
    .argument("<words...>", "[id] and its new end: 2d from now, a date, or never")
    .action(async (place: string, words: readonly string[], options: ManyTasksOptions) => {
      const [time = "", given, ...rest] = words.toReversed();
      if (rest.length > 0) throw new UsageError("Give a task's id and its new end, such as 2d.");
      const until = untilOf(time, context.io.now());
      const id = oneTask(given, options);
      end(
        id === undefined
          ? await (
              await import("./command/admin/act-on-many.ts")
            ).actOnMany(context, { place, action: "extend", options, until })
          : await (
              await import("./command/admin/act-on-task.ts")
            ).extendTask(context, { place, id, options, until }),
      );
    });

  acting("drain", "let a process take nothing new, finish or hand over what it has, and say when it is empty")
    .argument("[node]", "its id, or the start of it; needed if several processes serve the store")
    .option("--within <time>", "how long running steps may go on (default: 30s)")
    .option("--undo", "let it take work again")
    .action(async (place: string, node: string | undefined, options: DrainCommandOptions) =>
      end(await (await import("./command/admin/drain.ts")).drain(context, { place, node, options })),
    );
  acting("bulk", "show how far a command with --all is, or stop it")
    .argument("<job>", "the job that --json and actions name")
    .option("--cancel", "stop it; what is done stays done")
    .action(async (place: string, id: string, options: ShowBulkOptions) =>
      end(await (await import("./command/admin/show-bulk.ts")).showBulk(context, { place, id, options })),
    );

  const ofDatabase = (name: string, description: string): Command =>
    command(name, description, databaseForms);
  addDatabaseCommands({ command: ofDatabase, selecting }, context, end);
}

function usage(command: Command): string {
  const [store = "", ...others] = command
    .usage()
    .split(" ")
    .filter((word) => word !== "[options]");
  return ["holdfast admin", store, command.name(), ...others, "[options]"].join(" ");
}

function selecting(command: Command): Command {
  return command
    .option("--state <state>", `tasks in this state; can be repeated: ${adminTaskStates.join(", ")}`, collect)
    .option(
      "--waits-for <reason>",
      `tasks that wait for this; can be repeated: ${adminWaitReasons.join(", ")}`,
      collect,
    )
    .option("--tool <name>", "tasks of this tool")
    .option("--principal <name>", "tasks of this caller")
    .option("--nobody", "tasks of unidentified callers")
    .option("--node <id>", "tasks that this process runs, will run or ran last")
    .option("--older-than <time>", "tasks created longer ago than this: 90s, 5m, 48h, 7d")
    .option("--newer-than <time>", "tasks created within this time")
    .option("--text <text>", "tasks whose status text contains this")
    .option("--retried", "tasks that were run again as others")
    .option("--not-retried", "tasks that were not; with --all, the default");
}

function selectingMany(command: Command): Command {
  return selecting(command)
    .option("--all", "act on all selected tasks, newest first")
    .option("--limit <count>", "with --all: act on at most this many", countOf)
    .option("--dry-run", "with --all: count the tasks and change nothing")
    .option("--yes", "with --all: skip the confirmation");
}

/** The task that a command is about; undefined for all selected tasks. Throws a UsageError if neither is given, or both. */
function oneTask(id: string | undefined, options: ManyTasksOptions): string | undefined {
  const { all, limit, dryRun, ...others } = options;
  if (all === true && id !== undefined) throw new UsageError("Give the id of a task, or --all, not both.");
  if (all === true) return undefined;
  if (id === undefined) throw new UsageError("Give the id of a task, or --all with filters.");
  if (selectionText(others) !== "all" || limit !== undefined || dryRun === true)
    throw new UsageError("Filters, --limit and --dry-run need --all.");
  return id;
}

function many(command: Command): Command {
  return selectingMany(command.argument("[id]", `${idForms}; or --all`));
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
