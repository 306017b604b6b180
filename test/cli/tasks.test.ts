import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { EverythingServer } from "../conformance/everything-server.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const parse = ({ stdout }: Run): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

describe("tasks that were started and left", { timeout: 60_000 }, () => {
  let server: EverythingServer;
  let url: string;
  beforeAll(async () => {
    server = new EverythingServer();
    url = await server.url;
  });
  afterAll(async () => void (await server.stop("SIGKILL")));

  /** Commands that share a state folder. */
  async function user() {
    const state = await folder();
    const run = async (...args: string[]): Promise<Run> => runMain(args, { env: { HOLDFAST_STATE: state } });
    const start = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run("call", url, ...words, "--detach");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return stdout.trim();
    };
    return { state, run, start };
  }

  it("are listed as waited for until their result was printed", async () => {
    const { run, start } = await user();
    const id = await start("slow_compute", "seconds=0", "label=left");
    const listed = parse(await run("ls", "--json"));
    expect(listed).toEqual({
      tasks: [
        { id, isTask: true, server: url, tool: "slow_compute", startedAt: expect.any(String) as string },
      ],
    });
    expect((await run("ls")).stdout).toMatch(new RegExp(`^${id}\tslow_compute\t${url}\t\\d{4}-\\S+Z\n$`));
    const result = await run("result", id.slice(0, 20));
    expect(result).toMatchObject({ code: 0, stdout: "left: computed for 0 s\n" });
    expect(parse(await run("ls", "--json"))).toEqual({ tasks: [] });
    expect((await run("ls")).stdout).toMatch(new RegExp(`^${id}\t.*\tcompleted\n$`));
    expect(await run("result", id)).toMatchObject({ code: 0, stdout: "left: computed for 0 s\n" });
    expect(await run("forget", id)).toMatchObject({ code: 0 });
    expect(await run("ls")).toEqual({ code: 0, stdout: "", stderr: "" });
    const again = await run("result", id);
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toContain("holdfast ls");
    // The server has it still, for whoever says where it is.
    expect(await run("result", id, "--server", url)).toMatchObject({
      code: 0,
      stdout: "left: computed for 0 s\n",
    });
  });

  it("are found by their id, or a unique prefix", async () => {
    const { run, start } = await user();
    const ids = [await start("never_ends"), await start("never_ends")];
    const common = "0";
    const several = await run("get", common);
    expect(several).toMatchObject({ code: 2 });
    for (const id of ids) expect(several.stderr).toContain(id);
    for (const id of ids) expect(await run("cancel", id)).toMatchObject({ code: 0, stdout: "cancelled\n" });
    expect(parse(await run("ls", "--json"))).toEqual({ tasks: [] });
  });

  it.each(["get", "watch", "result", "cancel", "answer", "forget"])(
    "are not meant by an empty id: %s",
    async (command) => {
      const { run, state } = await user();
      const call = { server: url, generation: "2026-07-28", tool: "never_ends", args: {}, startedAt: 1 };
      await fileHandles(join(state, "state.db")).keep({ ...call, key: "k1", taskId: "t1" });
      for (const more of command === "forget" ? [[]] : [[], ["--server", url]]) {
        const refused = await run(command, "", ...more);
        expect(refused).toMatchObject({ code: 2, stdout: "" });
        expect(refused.stderr).toContain("The id is empty");
      }
      expect(parse(await run("ls", "--json"))).toMatchObject({ tasks: [{ id: "t1" }] });
    },
  );

  it("answer a question with the given values, converted by its schema", async () => {
    const { run, start } = await user();
    const id = await start("confirm_delete", "filename=a.txt");
    await vi.waitUntil(
      async () => parse(await run("get", id, "--json"))["status"] === "input_required",
      20_000,
    );
    const got = await run("get", id);
    expect(got.stdout).toContain("question    confirm: Delete a.txt? confirm=boolean\n");
    const refusals = [
      [["confirm=perhaps"], /confirm must be a boolean/],
      [["konfirm=true"], /no argument "konfirm"/],
      [[], /no terminal to ask you on.*\n {2}confirm: Delete a\.txt\?/],
      [["confirm=true", "--decline"], /only one of these/],
      [["confirm=true", "--question", "other"], /no open question "other"/],
    ] as const;
    for (const [words, message] of refusals) {
      const refused = await run("answer", id, ...words);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(message);
    }
    expect(parse(await run("get", id, "--json"))["status"]).toBe("input_required");
    expect(await run("answer", id, "confirm=true")).toMatchObject({ code: 0 });
    expect(await run("watch", id)).toMatchObject({ code: 0, stdout: "Would delete a.txt.\n" });
  });

  it("answer one of several questions, and decline another", async () => {
    const { run, start } = await user();
    const id = await start("multi_input");
    const questions = async (): Promise<{ key: string; method: string; params: { message: string } }[]> =>
      (parse(await run("get", id, "--json"))["questions"] ?? []) as Awaited<ReturnType<typeof questions>>;
    await vi.waitUntil(async () => (await questions()).length === 2, 20_000);
    const open = await questions();
    expect(open.map(({ method }) => method)).toEqual(["elicitation/create", "elicitation/create"]);
    const unclear = await run("answer", id, "--decline");
    expect(unclear).toMatchObject({ code: 2 });
    expect(unclear.stderr).toContain("--question");
    const name = open.find(({ params }) => params.message.includes("name"))?.key ?? "";
    const answered = await run("answer", id, "name=Ada", "--question", name, "--json");
    expect(parse(answered)).toMatchObject({
      id,
      status: "input_required",
      questions: [{ key: expect.not.stringMatching(name) as string }],
    });
    expect(await run("answer", id, "--decline")).toMatchObject({ code: 0 });
    expect((await run("result", id)).stdout).toContain("name: Ada");
  });

  it("are detached after --timeout, and continue", async () => {
    const { run, start } = await user();
    const id = await start("never_ends");
    const watched = await run("watch", id, "--timeout", "0.2");
    expect(watched).toMatchObject({ code: 7, stdout: "" });
    expect(watched.stderr).toContain(`holdfast watch ${id}`);
    const lines = (await run("watch", id, "--timeout", "1", "--json")).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id, status: "working", server: url, tool: "never_ends" },
      { error: { kind: "stopped", id }, exitCode: 7 },
    ]);
    expect(parse(await run("ls", "--refresh", "--json"))).toMatchObject({
      tasks: [{ id, status: "working" }],
    });
    expect(parse(await run("cancel", id, "--json"))).toMatchObject({ id, status: "cancelled" });
    expect(await run("result", id, "--server", url)).toMatchObject({ code: 4 });
  });

  it("end as watched ones do: with a document a line, and the code of the outcome", async () => {
    const { run, start } = await user();
    const [failing, protocol] = [await start("failing_job"), await start("protocol_error_job")];
    const watched = await run("watch", failing, "--json");
    expect(watched).toMatchObject({ code: 1, stderr: "" });
    const documents = watched.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(documents.at(-1)).toMatchObject({ id: failing, status: "completed", result: { isError: true } });
    const failed = await run("result", protocol, "--json");
    expect(failed.code).toBe(3);
    expect(parse(failed)).toMatchObject({ status: "failed", error: { code: 4001, data: { fixture: true } } });
    expect(parse(await run("ls", "--json"))).toEqual({ tasks: [] });
  });

  it("are expired when the server does not know them, and can be forgotten", async () => {
    const { run, start, state } = await user();
    const unknown = await run("get", "nothing-of-the-kind", "--server", url, "--json");
    expect(unknown.code).toBe(5);
    expect(parse(unknown)).toMatchObject({ error: { kind: "unknown_task" }, exitCode: 5 });
    const id = await start("never_ends");
    expect((await fileHandles(join(state, "state.db")).list()).calls).toHaveLength(1);
    expect(await run("forget", id)).toMatchObject({ code: 0, stdout: "" });
    expect(parse(await run("ls", "--json"))).toEqual({ tasks: [] });
    expect(await run("forget", id)).toMatchObject({ code: 2 });
    // Which tool made it, only the server knows by now.
    const foreign = await run("get", id, "--server", url);
    expect(foreign.stdout).toMatch(/^tool +never_ends$/m);
    expect(parse(await run("get", id, "--server", url, "--json"))).toMatchObject({ tool: "never_ends" });
    await run("cancel", id, "--server", url);
  });
});
