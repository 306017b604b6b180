import { connect } from "holdfast/client";
import { describe, expect, onTestFinished } from "vitest";
import { programWithServer } from "./program.ts";
import { PeerRecord } from "./record/peer-record.ts";

const inspector = "@modelcontextprotocol/inspector";
const eras = [
  ["2025-11-25", "legacy"],
  ["2026-07-28", "modern"],
] as const;
/** Of mcpdo, which takes no "=" between an option and its value. */
const json = ["--format", "json", "--connection", "peer"];
const text = (said: string) => ({ content: [{ type: "text", text: said }] });

describe.each(eras)("MCP Inspector's --cli in %s", (protocol, era) => {
  const record = new PeerRecord(`inspector-cli-${protocol}`, {
    peer: "MCP Inspector, `mcp-inspector --cli`",
    package: inspector,
    as: "client",
  });
  const { program, url } = programWithServer([inspector, "mcp-inspector"]);
  const command = async (...args: readonly string[]): Promise<string[]> => [
    "--cli",
    await url(),
    `--protocol-era=${era}`,
    "--format=json",
    "--method",
    ...args,
  ];
  const asks = async (...args: readonly string[]): Promise<unknown> => {
    const printed = (await program().prints(...(await command(...args)))) as { result: unknown };
    return printed.result;
  };

  record.works("lists tools, and calls a plain tool", async () => {
    const { protocolVersion } = (await asks("initialize")) as Record<string, unknown>;
    record.speaks(protocolVersion);
    const { tools } = (await asks("tools/list")) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain("greet");
    const greeted = await asks("tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada");
    expect(greeted).toMatchObject(text("Hello, Ada!"));
  });
  record.works("calls a tool that can run as a task, and waits for the result", async () => {
    const added = await asks("tools/call", "--tool-name", "add", "--tool-arg", "a=1", "--tool-arg", "b=2");
    expect(added).toMatchObject(text("3"));
  });
  record.works("calls a tool that must run as a task, and shows why it failed", async () => {
    const { code, stdout, stderr } = await program().runs(
      ...(await command("tools/call", "--tool-name", "failing_job")),
    );
    expect(code).toBe(era === "legacy" ? 1 : 5);
    expect(stdout + stderr).toContain("The job failed, as it always does.");
  });
  record.lacks(
    "does not declare elicitation, so calls of tools that ask questions are refused",
    "MCP Inspector",
    async () => {
      const { stdout, stderr } = await program().runs(
        ...(await command("tools/call", "--tool-name", "confirm_delete", "--tool-arg", "filename=a")),
      );
      expect(stdout + stderr).toMatch(/needs client capabilities that .*declare.*: elicitation/);
    },
  );
  record.lacks("cannot list, get or cancel tasks", "MCP Inspector; `mcpdo` can", async () => {
    const { code, stderr } = await program().runs(...(await command("tasks/list")));
    expect(code).toBe(1);
    expect(stderr).toContain("Unsupported method: tasks/list");
  });
  record.isAsWritten();
});

describe.each(eras)("MCP Inspector's mcpdo in %s", (protocol, era) => {
  const record = new PeerRecord(`inspector-mcpdo-${protocol}`, {
    peer: "MCP Inspector, `mcpdo`",
    package: inspector,
    as: "client",
  });
  // Its connection is held by a process of their own, here one that nobody else can ask.
  const { program, url } = programWithServer(
    [inspector, "mcpdo"],
    async (mcpdo, address) => {
      const { stdout } = await mcpdo.runs("private");
      for (const [, name = "", value = ""] of stdout.matchAll(/export (\w+)='(.*)'/g))
        mcpdo.env[name] = value;
      await mcpdo.prints(...json, "connect", "--server-url", address, "--era", era);
    },
    (mcpdo) => mcpdo.runs("daemon", "stop"),
  );
  const asks = (...args: readonly string[]): Promise<unknown> => program().prints(...json, ...args);
  /** A task that somebody else started; callers are not told apart. */
  const started = async (tool: string, args = {}): Promise<string> => {
    const client = await connect(await url(), {
      protocolVersion: protocol,
      onInput: () => new Promise(() => {}),
    });
    onTestFinished(async () => client.close());
    return String((await client.startTool(tool, args)).taskId);
  };

  record.works("lists tools, and calls a plain tool", async () => {
    const { protocolVersion } = (await asks("connections/show")) as Record<string, unknown>;
    record.speaks(protocolVersion);
    expect(JSON.stringify(await asks("tools/list"))).toContain('"never_ends"');
    expect(await asks("tools/call", "greet", "name:=Ada")).toMatchObject(text("Hello, Ada!"));
  });
  record.works("calls a tool as a task, and waits for the result", async () => {
    expect(await asks("tools/call", "add", "a:=1", "b:=2", "--task")).toMatchObject(text("3"));
  });
  record.works("answers a task's question, and gets the result", async () => {
    const { elicitationPending } = (await asks("tools/call", "confirm_delete", "filename:=a", "--task")) as {
      elicitationPending: { elicitationId: string; message: string };
    };
    expect(elicitationPending.message).toBe("Delete a?");
    const answered = await asks("elicitation/respond", elicitationPending.elicitationId, "confirm:=true");
    expect(answered).toMatchObject(text("Would delete a."));
  });
  record.works("gets and cancels a task by its id", async () => {
    const id = await started("never_ends");
    expect(await asks("tasks/get", id)).toMatchObject({ task: { taskId: id, status: "working" } });
    expect(await asks("tasks/cancel", id)).toMatchObject({ cancelled: true });
    expect(await asks("tasks/get", id)).toMatchObject({ task: { status: "cancelled" } });
  });
  record.works("gets the result of a task by its id", async () => {
    const id = await started("add", { a: 2, b: 3 });
    expect(JSON.stringify(await asks("tasks/result", id))).toContain('"5"');
  });
  const lists = async (): Promise<string> => {
    const id = await started("never_ends");
    const listed = JSON.stringify(await asks("tasks/list"));
    await asks("tasks/cancel", id);
    return listed.includes(id) ? "listed" : listed;
  };
  if (era === "legacy")
    record.works("lists tasks, including one that another client started", async () => {
      expect(await lists()).toBe("listed");
    });
  else
    record.lacks(
      "does not list tasks that it did not start",
      "the protocol, which cannot list tasks",
      async () => {
        expect(await lists()).toBe('{"tasks":[]}');
      },
    );
  record.isAsWritten();
});
