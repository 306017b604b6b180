import type { AttemptEnd, TaskAttempt } from "../../src/task/attempts.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { TaskRecord } from "../../src/task/record.ts";

// What the record says of its attempts: the first, and the nine last.

type Ending = "release" | "retry" | "next_round" | "park" | "block" | "settle" | "expire" | "cancel";

export function attemptOf(number: number, owner: string, startedAt: number): TaskAttempt {
  return { number, owner, startedAt, endedAt: null, end: null };
}

/** A task of which one more begins. */
export function oneMore({ attempts, attempt }: TaskRecord, owner: string, now: number): TaskAttempt[] {
  const all = [...attempts, attemptOf(attempt + 1, owner, now)];
  return all.filter((_, place) => place === 0 || place >= all.length - 9);
}

/** A task whose process is gone. */
export function lost(task: TaskRecord, now: number, about: string): readonly TaskAttempt[] {
  return over(task, { endedAt: now, end: "lost", error: `The process that ran it is gone.${about}` });
}

/** What a command says of the attempt that runs, if one does. */
export function overBy(task: TaskRecord, command: TaskCommand): readonly TaskAttempt[] {
  if (!isEnding(command)) return task.attempts;
  const ends: Readonly<Record<Ending, AttemptEnd>> = {
    release: "released",
    retry: "retried",
    next_round: "next_round",
    park: "parked",
    block: "blocked",
    settle: "settled",
    expire: "expired",
    cancel: "cancelled",
  };
  const failed = command.type === "settle" && command.outcome.kind !== "result";
  const tells = failed || command.type === "retry" || command.type === "expire";
  return over(task, {
    endedAt: command.now,
    end: failed ? "failed" : ends[command.type],
    ...(command.type === "block" && { error: command.block.problem }),
    ...(tells && command.statusMessage !== undefined && { error: command.statusMessage }),
  });
}

function isEnding(command: TaskCommand): command is TaskCommand<Ending> {
  return ["release", "retry", "next_round", "park", "block", "settle", "expire", "cancel"].includes(
    command.type,
  );
}

function over(
  { attempts, token }: TaskRecord,
  how: Pick<TaskAttempt, "endedAt" | "end" | "error">,
): readonly TaskAttempt[] {
  return token === null ? attempts : attempts.map((each) => (each.end === null ? { ...each, ...how } : each));
}
