import { describe, expect } from "vitest";
import { programWithServer } from "./program.ts";
import { PeerRecord } from "./record/peer-record.ts";

interface Started {
  readonly taskId: string;
}

const text = (said: string) => ({ content: [{ type: "text", text: said }] });

describe("mcpc", () => {
  const record = new PeerRecord("mcpc", { peer: "mcpc", package: "@apify/mcpc", as: "client" });
  // Its sessions are held by a process of their own, which ends with its session.
  const { program } = programWithServer(
    ["@apify/mcpc", "mcpc"],
    (mcpc, url) => mcpc.prints("connect", url, "@peer", "--json"),
    (mcpc) => mcpc.prints("close", "@peer", "--json"),
  );
  const asks = (...args: readonly string[]): Promise<unknown> => program().prints("@peer", ...args, "--json");

  record.works("lists tools, and calls a plain tool", async () => {
    const { protocolVersion, toolNames } = (await asks()) as Record<string, unknown>;
    record.speaks(protocolVersion);
    expect(toolNames).toEqual(expect.arrayContaining(["greet", "add", "never_ends"]));
    expect(await asks("tools-call", "greet", "name:=Ada")).toMatchObject(text("Hello, Ada!"));
  });
  record.works("calls a tool as a task with `--task`, and waits for the result", async () => {
    const result = await asks("tools-call", "add", "a:=1", "b:=2", "--task");
    expect(result).toMatchObject(text("3"));
    expect(result).toHaveProperty(["_meta", "io.modelcontextprotocol/related-task", "taskId"]);
  });
  record.works("starts a task with `--detach`, lists it, and gets its result later", async () => {
    const { taskId } = (await asks("tools-call", "add", "a:=2", "b:=3", "--detach")) as Started;
    const { tasks } = (await asks("tasks-list")) as { tasks: Started[] };
    expect(tasks.map((task) => task.taskId)).toContain(taskId);
    expect(await asks("tasks-result", taskId)).toMatchObject(text("5"));
  });
  record.works("cancels a task, and reports that it has no result", async () => {
    const { taskId } = (await asks("tools-call", "never_ends", "--detach")) as Started;
    expect(await asks("tasks-get", taskId)).toMatchObject({ status: "working" });
    expect(await asks("tasks-cancel", taskId)).toMatchObject({ status: "cancelled" });
    const { code, stderr } = await program().runs("@peer", "tasks-result", taskId, "--json");
    expect(code).toBe(2);
    expect(stderr).toContain("Task was cancelled");
  });
  record.works("reads resources, and gets prompts", async () => {
    expect(await asks("resources-read", "test://static-text")).toHaveProperty("contents");
    expect(await asks("prompts-get", "test_simple_prompt")).toHaveProperty("messages");
  });
  record.lacks(
    "does not declare elicitation, so calls of tools that ask questions are refused",
    "mcpc",
    async () => {
      const call = ["@peer", "tools-call", "confirm_delete", "filename:=a", "--task", "--json"];
      const { code, stderr } = await program().runs(...call);
      expect(code).toBe(2);
      expect(stderr).toMatch(/needs client capabilities that .*declare: elicitation/);
    },
  );
  record.lacks(
    "declares sampling, but answers sampling requests with an error, which the tool receives",
    "mcpc",
    async () => {
      const result = await asks("tools-call", "ask_model", "prompt:=hi", "--task");
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain("Method not found");
    },
  );
  record.isAsWritten();
});
