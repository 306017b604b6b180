import type { HttpServer } from "holdfast/http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../../src/client/connect.ts";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { askingServer } from "./asking-server.ts";
import { folder } from "../run-cli.ts";
import { idOn, keys, Pty } from "./pty.ts";

const { enter, up, down, space, escape, backspace, ctrlD } = keys;

describe("a person who is asked", { timeout: 60_000 }, () => {
  let everything: EverythingServer;
  let asking: HttpServer;
  let url: string;
  beforeAll(async () => {
    everything = new EverythingServer();
    asking = await askingServer();
    url = await everything.url;
  });
  afterAll(async () => {
    await asking.close();
    await everything.stop("SIGKILL");
  });

  async function cancelTask(taskId: string): Promise<void> {
    const client = await connect(url);
    try {
      await (await client.resume({ server: url, generation: "2026-07-28", taskId })).cancel();
    } finally {
      await client.close();
    }
  }

  it("answers a question, and reads the result below", async () => {
    const pty = await Pty.holdfast(["call", url, "confirm_delete", "filename=a.txt"]);
    await pty.sees(/tool confirm_delete, asks:\n.*Delete a\.txt\?/);
    await pty.sees(/● No/);
    pty.signal("SIGCONT"); // as after Ctrl-Z and `fg`, when the shell has written over the prompt
    await pty.sees(/◆ {2}Delete it(.|\n)*◆ {2}Delete it/);
    pty.type(up);
    await pty.sees(/● Yes/);
    pty.type(enter);
    await pty.sees(/Send this\?\n.*yes/);
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toMatch(/✔ confirm_delete completed after \d+s\nWould delete a\.txt\.\n/);
  });

  it("fills every kind of field, and is told what does not fit", async () => {
    const pty = await Pty.holdfast(["call", asking.url, "survey"], { rows: 40 });
    await pty.sees(/◆ {2}Your name \(2 to 10 characters\)/);
    pty.type("A", enter);
    await pty.sees(/Enter at least 2 characters; this has 1\./);
    pty.type("da", enter);
    await pty.sees(/◆ {2}mail \(optional; email address\)\n.*ann@example\.com/);
    pty.type(backspace.repeat(4), enter);
    await pty.sees(/Enter an email address/);
    pty.type(".org", enter);
    await pty.sees(/◆ {2}age/);
    pty.type("17", enter);
    await pty.sees(/Enter 18 or more\./);
    pty.type(backspace, "8", enter);
    await pty.sees(/◆ {2}Colour/);
    pty.type(down);
    await pty.sees(/● Green \(#0f0\)/);
    pty.type(enter);
    await pty.sees(/◆ {2}days \(1 to 2\)/);
    pty.type(enter);
    await pty.sees(/Choose at least 1; you chose 0\.\n.*days/);
    pty.type(space, down, down, space);
    await pty.sees(/◼ mon\n.*tue\n.*◼ wed/);
    pty.type(enter);
    await pty.sees(/◆ {2}Are you sure\?/);
    pty.type(enter);
    await pty.sees(/◆ {2}note \(optional\): whatever else there is/);
    pty.type(enter);
    await pty.sees(
      /Send this\?\n.*Your name: Ada\n.*mail: ann@example\.org\n.*age: 18\n.*Green\n.*mon, wed\n.*no\n.*note: –/,
    );
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    const answer = /^\{"action.*\}$/m.exec(pty.screen.text)?.[0] ?? "";
    expect(JSON.parse(answer)).toEqual({
      action: "accept",
      content: {
        name: "Ada",
        mail: "ann@example.org",
        age: 18,
        colour: "#0f0",
        days: ["mon", "wed"],
        sure: false,
      },
    });
  });

  it("declines by Escape, or by Ctrl-D", async () => {
    const pty = await Pty.holdfast(["call", url, "confirm_delete", "filename=a.txt"]);
    await pty.sees(/● No/);
    pty.type(escape);
    await pty.sees(/Leave the form\?\n.*● Back to the form/);
    pty.type(enter);
    await pty.sees(/Leave the form(.|\n)*◆ {2}Delete it/);
    pty.type(ctrlD);
    await pty.sees(/Leave the form(.|\n)*Leave the form/);
    pty.type(down);
    await pty.sees(/● Decline/);
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toContain("Kept a.txt");
  });

  it("leaves a question to others, and is told when it is gone", async () => {
    const pty = await Pty.holdfast(["call", url, "confirm_delete", "filename=c.txt"]);
    const id = await idOn(pty);
    await pty.sees(/● No/);
    await cancelTask(id);
    await pty.sees(/The question is no longer open\./);
    expect(await pty.ends()).toBe(4);

    const other = await Pty.holdfast(["call", url, "confirm_delete", "filename=d.txt"]);
    const open = await idOn(other);
    await other.sees(/● No/);
    other.type(escape);
    await other.sees(/Leave open/);
    other.type(up); // from the first option round to the last
    await other.sees(/● Leave open/);
    other.type(enter);
    await other.sees(new RegExp(`stays open\\. Answer it with:\\n  holdfast answer ${open}`));
    await other.sees(/^\S confirm_delete · waits for an answer/m);
    await cancelTask(open);
    expect(await other.ends()).toBe(4);
  });

  it("is asked one question after the other", async () => {
    const pty = await Pty.holdfast(["call", asking.url, "two"]);
    await pty.sees(/The first question(.|\n)*◆ {2}answer/);
    expect(pty.screen.text).not.toContain("second");
    pty.type("one", enter);
    await pty.sees(/Send this/);
    pty.type(enter);
    await pty.sees(/The second question(.|\n)*◆ {2}answer/);
    pty.type("two", enter);
    await pty.sees(/answer: two/);
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toContain('{"answer":"one"}');
    expect(pty.screen.text).toContain('{"answer":"two"}');
  });

  it("sees the host of a URL before accepting", async () => {
    const pty = await Pty.holdfast(["call", asking.url, "visit"]);
    await pty.sees(
      /https:\/\/xn--bcher-kva\.example\/sign-in\?state=1\n.*The host is xn--bcher-kva\.example\./,
    );
    await pty.sees(/Accept\?\n.*● Accept/);
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toContain('{"action":"accept"}');
  });

  it("is asked by `answer`, and ends that by leaving the question open", async () => {
    const state = await folder();
    const started = await Pty.holdfast(["call", url, "confirm_delete", "filename=e.txt", "--detach"], {
      state,
    });
    expect(await started.ends()).toBe(0);
    const [id = ""] = /^01\w[\w-]+/m.exec(started.screen.text) ?? [];
    const pty = await Pty.holdfast(["answer", id], { state });
    await pty.sees(/● No/);
    pty.type(escape);
    await pty.sees(/Leave open/);
    pty.type(up);
    await pty.sees(/● Leave open/);
    pty.type(enter);
    expect(await pty.ends()).toBe(0);
    expect(pty.screen.text).toContain("left open; the task is input_required");
    const late = await Pty.holdfast(["answer", id], { state });
    await late.sees(/● No/);
    await cancelTask(id);
    expect(await late.ends()).toBe(2);
    expect(late.screen.text).toMatch(
      /closed\s+before\s+your\s+answer\s+was\s+sent\.\s+The\s+task\s+is\s+cancelled/,
    );
  });
});
