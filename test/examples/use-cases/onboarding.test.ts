import { testTasks } from "holdfast/testing";
import { describe, expect, it } from "vitest";
import { addOnboarding, type Account, type System } from "../../../examples/use-cases/onboarding.ts";

/** A system that keeps its accounts, and what it was asked for. */
class Accounts implements System {
  readonly name: string;
  readonly given = new Map<string, Account>();
  readonly #said: string[];
  /** Comes before each grant and revoke is answered, when it was done. */
  answer: (what: string) => Promise<void> = async () => undefined;

  constructor(name: string, said: string[]) {
    this.name = name;
    this.#said = said;
  }

  async grant(key: string, account: Account): Promise<void> {
    this.#said.push(`grant ${this.name}`);
    this.given.set(key, account);
    await this.answer("grant");
  }

  async revoke(key: string): Promise<void> {
    this.#said.push(`revoke ${this.name}`);
    this.given.delete(key);
    await this.answer("revoke");
  }
}

function company(): { payroll: Accounts; repository: Accounts; systems: Accounts[]; said: string[] } {
  const said: string[] = [];
  const payroll = new Accounts("payroll", said);
  const repository = new Accounts("repository", said);
  return { payroll, repository, systems: [new Accounts("directory", said), payroll, repository], said };
}

const accountsIn = (systems: readonly Accounts[]): Account[] =>
  systems.flatMap(({ given }) => [...given.values()]);

const ada = { person: "Ada", role: "engineer" };
const approval = { action: "accept" as const, content: { approver: "Grace", role: "manager" } };
const approved = { approve: approval };
const hangs = (): Promise<void> => new Promise(() => undefined);

it("sets somebody up in each system once, with who approved it, although the server dies on the way", async () => {
  const { systems, said } = company();
  await using t = await testTasks((tasks) => addOnboarding(tasks, systems), { caller: "lin" });
  const task = await t.start("onboard", ada);
  const { params } = await task.question("approve");
  expect(params["message"]).toBe("lin asks for accounts of Ada in: directory, payroll, repository.");
  await t.crash(); // whoever decides may take days
  await t.restart();
  await t.clock.advance("2h");
  const died = t.crash({ before: ["grant", "payroll"] }); // the account is there, and nobody knows
  await task.answer("approve", approval);
  await died;
  await t.restart();
  const { structuredContent } = await task.result();
  expect(structuredContent).toMatchObject({
    status: "Ada is set up as manager in: directory, payroll, repository.",
    approvedBy: "Grace",
  });
  expect(accountsIn(systems)).toEqual(Array(3).fill({ person: "Ada", role: "manager", approvedBy: "Grace" }));
  expect(said).toEqual(["grant directory", "grant payroll", "grant payroll", "grant repository"]);
  expect((await task.logs()).map(({ text }) => text)).toEqual([
    "Approved by Grace",
    "directory: granted",
    "payroll: granted",
    "repository: granted",
  ]);
});

describe("sets nobody up", () => {
  it.each(["decline", "cancel"] as const)("where the answer is %s", async (action) => {
    const { systems, said } = company();
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    t.answers({ approve: { action } });
    const task = await t.start("onboard", ada);
    expect((await task.result()).structuredContent).toEqual({
      status: "Ada was not set up: the request was not approved.",
    });
    expect(said).toEqual([]);
    expect((await task.logs()).map(({ text }) => text)).toEqual([`Not approved: ${action}`]);
  });

  it("where nobody says who approves it", async () => {
    const { systems, said } = company();
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    const task = await t.start("onboard", ada);
    const anonymous = { action: "accept" as const, content: { role: "engineer" } };
    await expect(task.answer("approve", anonymous)).rejects.toThrow("does not fit the question");
    expect(await task.status()).toBe("input_required");
    expect(said).toEqual([]);
  });

  it("where nobody decides in a day", async () => {
    const { systems, said } = company();
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    const task = await t.start("onboard", ada);
    await task.question("approve");
    await t.clock.advance("24h");
    await expect(task.result()).rejects.toThrow("was not answered in time");
    expect(said).toEqual([]);
  });
});

const undone = ["revoke repository", "revoke payroll", "revoke directory"];

describe("takes back what was given", () => {
  it("where a system refuses, although the server dies meanwhile", async () => {
    const { systems, payroll, repository, said } = company();
    repository.answer = async (what) => {
      if (what === "grant") throw new Error("No licence is left.");
    };
    let failures = 2;
    payroll.answer = async (what) => {
      if (what === "revoke" && failures-- > 0) throw new Error("busy");
    };
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    t.answers(approved);
    const died = t.crash({ after: ["revoke", "repository"] });
    const task = await t.start("onboard", ada);
    await t.clock.advance("10m");
    await died;
    await t.restart();
    await t.clock.advance("10m");
    const { isError, content } = await task.result();
    expect({ isError, content }).toEqual({
      isError: true,
      content: [{ type: "text", text: "No licence is left." }],
    });
    expect(accountsIn(systems)).toEqual([]);
    expect(said.filter((what) => what.startsWith("revoke"))).toEqual([
      "revoke repository",
      ...Array(3).fill("revoke payroll"),
      "revoke directory",
    ]);
    expect((await task.logs()).map(({ text }) => text).slice(-3)).toEqual([
      "repository: revoked",
      "payroll: revoked",
      "directory: revoked",
    ]);
  });

  it("where the task is cancelled while a system answers", async () => {
    const { systems, repository, said } = company();
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    t.answers(approved);
    const granted = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    repository.answer = async (what) => {
      if (what !== "grant") return;
      granted.resolve();
      await cancelled.promise;
    };
    const task = await t.start("onboard", ada);
    await granted.promise;
    await task.cancel();
    cancelled.resolve();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    expect(accountsIn(systems)).toEqual([]);
    expect(said.slice(-3)).toEqual(undone);
  });

  it("where the task is cancelled, and the server dies before all is taken back", async () => {
    const { systems, repository, said } = company();
    await using t = await testTasks((tasks) => addOnboarding(tasks, systems));
    t.answers(approved);
    const granted = Promise.withResolvers<void>();
    repository.answer = (what) => (what === "grant" ? (granted.resolve(), hangs()) : Promise.resolve());
    const task = await t.start("onboard", ada);
    await granted.promise;
    await task.cancel();
    await t.crash(); // its handler still waits for the third system
    expect(accountsIn(systems)).toHaveLength(3);
    await t.restart();
    await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
    expect(accountsIn(systems)).toEqual([]);
    expect(said.slice(-3)).toEqual(undone);
  });
});
