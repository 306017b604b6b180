/** The tools that go with tickets: for the result of a call, to stop it, to answer its question, to find it again. */
export const companionKinds = ["result", "cancel", "answer", "list"] as const;

export type CompanionKind = (typeof companionKinds)[number];

/** The names of these tools. */
export type CompanionNames = Readonly<Record<CompanionKind, string>>;

export const defaultNames: CompanionNames = {
  result: "task_result",
  cancel: "task_cancel",
  answer: "task_answer",
  list: "task_list",
};
