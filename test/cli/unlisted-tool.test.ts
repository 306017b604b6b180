import { expect, it, onTestFinished } from "vitest";
import { sent } from "../client/answers.ts";
import { ScriptedServer } from "../client/scripted-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("calls a tool of a server that lists none, with whatever arguments are given", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  server.script("tools/list", { error: { code: -32601, message: "Method not found" } });
  server.script("tools/call", { result: { resultType: "complete", ...sent } });
  const run = await runMain(["call", server.url, "send", "to=Ada", "copies:=2"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  const stderr =
    "holdfast: The server does not list its tools: Method not found (-32601); the arguments are sent as they are given\n";
  expect(run).toMatchObject({ code: 0, stderr });
  const [call] = server.of("tools/call");
  expect(call?.params).toMatchObject({ name: "send", arguments: { to: "Ada", copies: 2 } });
});
